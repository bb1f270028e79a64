// Writes the linter's rules of imports from scripts/layers.mjs: `node scripts/lint-layers.mjs`. `--check` fails if they differ.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apart, consumers, entries, foreignTo, forbiddenTo, layered, layers, packages, reserved } from "./layers.mjs";
import { fail, root } from "./setup.mjs";

const oneOf = (names) => (names.length === 1 ? names[0] : `(${names.join("|")})`);
const list = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");

/** @param bundled packages that code of this package may import too, because their code is bundled into a file for pages */
function patternsOf(name, bundled = []) {
  const { anywhere } = packages[name];
  const imports = [...packages[name].imports, ...bundled];
  const allowed = imports.length === 0 ? `${name} imports none of our packages.` : undefined;
  return [
    {
      regex: `^${oneOf(foreignTo(imports).map((other) => packages[other].name))}(/|$)`,
      message: allowed ?? `Of our packages, ${name} imports only ${list(imports)}.`,
    },
    ...(anywhere === true
      ? [{ regex: "^(node|bun|deno):", message: `${name} runs anywhere: no runtime's own modules.` }]
      : []),
    ...nobodyImports(Object.keys(consumers)),
    {
      regex: `^(\\.\\./){2,}${oneOf(Object.keys(packages))}/`,
      message: "Import another package by its name.",
    },
  ];
}

function nobodyImports(names) {
  const scopes = [...new Set(names.map((name) => consumers[name]))];
  return [{ regex: `^${oneOf(scopes)}|^(\\.\\./)+${oneOf(names)}/`, message: `Nothing imports ${list(names)}.` }];
}

const documentedOnly = { regex: "^@quicrpc/[a-z-]+/internal$", message: "Import documented entries only." };

const noSleep = {
  regex: "^(node:)?timers(/promises)?$",
  importNames: ["setTimeout"],
  message: "A test waits for what happens, not for a time.",
};

const reservedPatterns = (except) =>
  Object.entries(reserved).flatMap(([name, file]) =>
    file === except ? [] : [{ regex: `^${name}(/|$)`, message: `Only ${file} imports ${name}.` }],
  );

function layerPattern(folder) {
  const never = apart[folder] === undefined ? "" : `, and never imports ${list(apart[folder])}`;
  const level = layers.findIndex((names) => names.includes(folder)) + 1;
  return {
    regex: `^(\\.\\./)+${oneOf(forbiddenTo(folder))}(/|\\.[jt]s$)`,
    message: `Import only from your own folder or a lower layer (${folder} is layer ${level}${never}).`,
  };
}

const override = (files, patterns) => ({
  files: [files],
  rules: { "no-restricted-imports": ["error", { patterns }] },
});

/** The last of several overrides with one rule that fits a file is the rule. */
function overrides() {
  const core = patternsOf("core");
  const folders = layers.flat();
  const base = {
    regex: `^\\./${oneOf([...folders, ...entries])}(/|\\.[jt]s$)`,
    message: "Files of layer 0 import only one another.",
  };
  const all = [
    ...Object.keys(packages).map((name) =>
      override(`packages/${name}/src/**`, [...patternsOf(name), ...reservedPatterns()]),
    ),
    override(`${layered}/*.ts`, [...core, ...reservedPatterns(), base]),
    ...folders.map((name) => override(`${layered}/${name}/**`, [...core, ...reservedPatterns(), layerPattern(name)])),
    ...entries.map((name) => override(`${layered}/${name}.ts`, [...core, ...reservedPatterns()])),
  ];
  for (const file of Object.values(reserved)) {
    const folder = folders.find((name) => file.startsWith(`${layered}/${name}/`));
    all.push(
      override(file, [...core, ...reservedPatterns(file), ...(folder === undefined ? [] : [layerPattern(folder)])]),
    );
  }
  const anywhere = Object.keys(packages).filter((name) => packages[name].anywhere === true);
  all.push({ files: [`packages/{${anywhere.join()}}/src/**`], rules: { "import/no-nodejs-modules": "error" } });
  const silent = Object.keys(packages).filter((name) => packages[name].prints !== true);
  all.push({ files: [`packages/{${silent.join()}}/src/**`], rules: { "no-console": "error" } });
  all.push(
    override("examples/**", [documentedOnly]),
    override("packages/browser/src/script/**", [...patternsOf("browser", ["http"]), ...reservedPatterns()]),
    override("packages/studio/src/page/**", [...patternsOf("studio"), ...reservedPatterns(), documentedOnly]),
  );
  const ofTests = nobodyImports(["examples", "bench"]);
  for (const files of ["test/**", "packages/*/test/**", "**/*.test.ts"]) {
    all.push(override(files, files === "**/*.test.ts" ? [...ofTests, noSleep] : ofTests));
  }
  return all;
}

const rules = join(root, "scripts/layers.oxlintrc.json");
const wanted = `{ "overrides": [\n${overrides()
  .map((one) => JSON.stringify(one))
  .join(",\n")}\n] }\n`;
if (!process.argv.includes("--check")) writeFileSync(rules, wanted);
else if (readFileSync(rules, "utf8") !== wanted) fail("scripts/layers.mjs has changed: node scripts/lint-layers.mjs");
