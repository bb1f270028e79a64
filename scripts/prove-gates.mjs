// Seeds one violation per gate in a temporary copy of the tree, and checks that the gate fails and names it.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { entries, foreignTo, forbiddenTo, layered, layers, packages, reserved } from "./layers.mjs";
import { fail, npm, root, run, tool } from "./setup.mjs";

const CORE = layered;
const RESTRICTED = "no-restricted-imports";

/** Each lint violation is in a file of its own, so that one run of the linter judges many. */
function lintSeed(what, plantAll) {
  const files = {};
  const expected = [];
  plantAll((path, text, rule) => {
    files[path] = `${text}\n`;
    expected.push({ path, rule });
  });
  const judge = (output) => {
    const lines = output.split("\n");
    const at = (path, rule) => lines.some((line) => line.startsWith(`${path}:`) && line.includes(rule));
    return expected.flatMap(({ path, rule }) => {
      if (rule === undefined)
        return at(path, RESTRICTED) ? [`${path} is flagged, though it may import what it does`] : [];
      return at(path, rule) ? [] : [`${rule} in ${path}`];
    });
  };
  return { what: `${expected.length} files: ${what}`, gate: "lint", args: ["-f", "unix"], files, judge };
}

function seedPromisesAndCycles(seed) {
  const floating = "async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}";
  seed(`${CORE}/call/seeded-floating.ts`, floating, "no-floating-promises");
  seed(`${CORE}/call/seeded-floating.test.ts`, floating, "no-floating-promises");
  seed("test/seeded-floating.test.ts", floating, "no-floating-promises");
  const sleep = "export const slept: Promise<unknown> = new Promise((resolve) => void setTimeout(resolve, 50));";
  seed(`${CORE}/call/seeded-sleep.test.ts`, sleep, "no-restricted-globals");
  const imported =
    'import { setTimeout } from "node:timers/promises";\nexport const slept: Promise<void> = setTimeout(50);';
  seed("test/seeded-sleep.test.ts", imported, RESTRICTED);
  seed(
    `${CORE}/call/seeded-a.ts`,
    'import { b } from "./seeded-b.js";\nexport const a = (): number => b();',
    "no-cycle",
  );
  seed(
    `${CORE}/call/seeded-b.ts`,
    'import { a } from "./seeded-a.js";\nexport const b = (): number => a();',
    "no-cycle",
  );
}

// Apart from the others: the type-aware rules pass over core's files once core imports a package that refers to it.
function seedImports(seed) {
  const folders = layers.flat();
  const targets = {
    "": [...folders, ...entries],
    ...Object.fromEntries(folders.map((name) => [name, forbiddenTo(name)])),
  };
  for (const [folder, names] of Object.entries(targets)) {
    for (const target of names) {
      const up = folder === "" ? "." : "..";
      const specifier = entries.includes(target) ? `${up}/${target}.js` : `${up}/${target}/thing.js`;
      seed(
        join(CORE, folder, `seeded-to-${target}.ts`),
        `import type { T } from "${specifier}";\nexport type U = T;`,
        RESTRICTED,
      );
    }
  }
  const nobodys = [...Object.keys(reserved), "@quicrpc-examples/arith", "../../../bench/thing.js"];
  for (const [name, { anywhere }] of Object.entries(packages)) {
    const foreign = foreignTo(name).map((other) => packages[other].name);
    for (const specifier of [...foreign, ...nobodys, ...(anywhere === true ? ["node:fs", "fs"] : [])]) {
      const path = `packages/${name}/src/seeded-imports-${specifier.replace(/\W/g, "-")}.ts`;
      const rule = specifier === "fs" ? "no-nodejs-modules" : RESTRICTED;
      seed(path, `import * as thing from "${specifier}";\nexport const it: unknown = thing;`, rule);
    }
  }
  seed(`${CORE}/wire/seeded-msgpackr.ts`, 'export { Packr } from "msgpackr";', RESTRICTED);
  seed("test/seeded-example.test.ts", 'import "../examples/arith/src/server.js";', RESTRICTED);
  // An allowed import must stay allowed.
  const lower = ["errors", "limits", "wire/thing", "contract/thing", "transport/thing", "call/thing", "client/thing"];
  const imports = [...lower, "server/thing"].map((path, i) => `import type { T as T${i} } from "../${path}.js";`);
  seed(
    `${CORE}/session/seeded-down.ts`,
    `${imports.join("\n")}\nexport type U = T0 | T1 | T2 | T3 | T4 | T5 | T6 | T7;`,
  );
  seed(`${CORE}/transport/seeded-own.ts`, 'import type { T } from "./session.js";\nexport type U = T;');
}

const seeds = [
  lintSeed("floating promises and import cycles", seedPromisesAndCycles),
  lintSeed("imports against the layers", seedImports),
  {
    what: "a layer that the linter does not know",
    gate: "lint",
    files: { "scripts/layers.mjs": (text) => text.replace('["call"]', '["call", "seeded"]') },
    expect: /layers\.oxlintrc\.json is not what scripts\/layers\.mjs says/,
  },
  {
    what: "a generated file that its schema has outrun",
    gate: "gen:check",
    files: { "examples/arith/src/arith.service.ts": (text) => text.replace("pro: z.int()", "product: z.int()") },
    expect: /stale examples\/arith\/src\/generated\/arith\.ts/,
  },
  {
    what: "a type error",
    gate: "typecheck",
    files: { [`${CORE}/seeded.ts`]: 'export const seeded: number = "one";\n' },
    expect: /core\/src\/seeded\.ts.*TS2322/,
  },
  {
    what: "an export without its type",
    gate: "typecheck",
    files: { [`${CORE}/seeded.ts`]: "export function seeded(n: number) {\n  return n + 1;\n}\n" },
    expect: /core\/src\/seeded\.ts.*TS90\d\d/,
  },
  {
    what: "a Node global in core",
    gate: "typecheck",
    files: { [`${CORE}/seeded.ts`]: "export const seeded: unknown = process;\n" },
    expect: /core\/src\/seeded\.ts.*TS2591/,
  },
  {
    what: "a type error in a test beside the source",
    gate: "typecheck",
    files: { [`${CORE}/wire/seeded.test.ts`]: 'export const seeded: number = "one";\n' },
    expect: /core\/src\/wire\/seeded\.test\.ts.*TS2322/,
  },
  {
    what: "a type error in test/",
    gate: "typecheck",
    files: { "test/seeded.test.ts": 'export const seeded: number = "one";\n' },
    expect: /test\/seeded\.test\.ts.*TS2322/,
  },
  {
    what: "a type error in bench/",
    gate: "typecheck",
    files: { "bench/src/seeded.ts": 'export const seeded: number = "one";\n' },
    expect: /bench\/src\/seeded\.ts.*TS2322/,
  },
  {
    what: "a type error in an example",
    gate: "typecheck",
    files: { "examples/arith/src/seeded.ts": 'export const seeded: number = "one";\n' },
    expect: /examples\/arith\/src\/seeded\.ts.*TS2322/,
  },
  {
    what: "bad formatting",
    gate: "format:check",
    files: { [`${CORE}/seeded.ts`]: "export const seeded  :number=1\n" },
    expect: /seeded\.ts format/,
  },
  {
    what: "an unused file",
    gate: "knip",
    files: { [`${CORE}/seeded.ts`]: "export const seeded: number = 1;\n" },
    expect: /Unused files[\s\S]*core\/src\/seeded\.ts/,
  },
  {
    what: "an unused export",
    gate: "knip",
    files: { [`${CORE}/errors.ts`]: (text) => `${text}\nexport const seeded: number = 1;\n` },
    expect: /Unused exports[\s\S]*seeded.*core\/src\/errors\.ts/,
  },
  {
    what: "an unused dependency",
    gate: "knip",
    files: {
      "packages/quic/package.json": (text) => text.replace(/\}\s*$/, ', "dependencies": { "commander": "*" } }\n'),
    },
    expect: /Unused dependencies[\s\S]*commander.*packages\/quic/,
  },
  {
    what: "an exports path to no file",
    gate: "publint",
    files: { "packages/core/package.json": (text) => text.replace("./dist/index.js", "./dist/no-such.js") },
    expect: /dist\/no-such\.js but the file does not exist/,
  },
  {
    what: "a source map of a source that is not packed",
    gate: "tarballs",
    files: { "packages/core/dist/seeded.js.map": '{ "sources": ["../src/nowhere.ts"] }' },
    expect: /@quicrpc\/core: dist\/seeded\.js\.map names src\/nowhere\.ts, which is not there/,
  },
  {
    what: "notices of what the engine is not built from",
    gate: "third-party:check",
    files: { "packages/quic/native/THIRD-PARTY.md": (text) => text.replace("| bytes |", "| seeded |") },
    expect: /THIRD-PARTY\.md is not what the engine is built from/,
  },
  {
    what: "a types path to no file",
    gate: "attw",
    files: { "packages/core/package.json": (text) => text.replace("./dist/index.d.ts", "./dist/no-such.d.ts") },
    expect: /attw packages\/core: failed/,
  },
  {
    what: "failing tests in each place for tests",
    command: [...tool.vitest, "run", "seeded"],
    gate: "vitest",
    files: Object.fromEntries(
      ["packages/core/src/call/seeded.test.ts", "packages/core/test/seeded.test.ts", "test/seeded.test.ts"].map(
        (path) => [path, 'import { expect, test } from "vitest";\ntest("seeded", () => expect(1).toBe(2));\n'],
      ),
    ),
    expect: /Tests\s+3 failed/,
  },
  {
    what: "a call that allocates more",
    gate: "bench:guard",
    files: {
      "packages/core/dist/call/lanes/lane.js": (text) =>
        text.replace("add(entry) {", "add(entry) {\n        globalThis.seeded = new Array(64).fill(0.5);"),
    },
    expect: /a call on a lane.*allocates more/,
  },
  {
    what: "a call that takes longer",
    gate: "bench:guard",
    files: {
      "packages/core/dist/call/lanes/lane.js": (text) =>
        text.replace("add(entry) {", "add(entry) {\n        for (let i = 0; i < 20_000; i++) globalThis.seeded = i;"),
    },
    expect: /a call on a lane.*takes longer/,
  },
  {
    what: "a limit that the page does not have",
    gate: "limits:check",
    files: {
      "packages/core/src/limits.ts": (text) => text.replace("/** Bytes of one frame:", "/** Bytes of a seeded frame:"),
    },
    expect: /docs\/limits\.md is not what the code says/,
  },
  {
    what: "an option without a default, and one that the page does not have",
    gate: "reference:check",
    files: {
      "packages/core/src/call/options.ts": (text) =>
        text.replace(
          "export interface CallOptions {",
          "export interface CallOptions {\n  /** A seed. */\n  readonly seeded?: boolean;",
        ),
    },
    expect: /the comment of seeded states no default[^]*docs\/options\.md is not what the code says/,
  },
  {
    what: "defaults of options that are not what their comments say, where the option is read and in a constant that completes it",
    gate: "reference:check",
    files: {
      "packages/core/src/interceptors/retry.ts": (text) => text.replace("initialDelayMs = 50", "initialDelayMs = 51"),
      "packages/core/src/server/once/once-service.ts": (text) => text.replace("leaseMs: 10_000", "leaseMs: 10_001"),
    },
    expect:
      /RetryOptions\.initialDelayMs: the comment says 50, and packages\/core\/src\/interceptors\/retry\.ts[^]*OnceOptions\.leaseMs: the comment says 10,000/,
  },
  {
    what: "a code of an error that nobody has declared",
    gate: "reference:check",
    files: {
      "packages/quic/native/src/error.rs": (text) => text.replace('"ERR_QUIC_HTTP3"', '"ERR_QUIC_SEEDED"'),
    },
    expect: /no interface of codes has ERR_QUIC_SEEDED\nnothing fails with ERR_QUIC_HTTP3/,
  },
  {
    what: "a command's page that is not what the command says",
    gate: "cli:check",
    files: { "docs/cli.md": (text) => text.replace("Options:", "Seeds:") },
    expect: /docs\/cli\.md is not what/,
  },
  {
    what: "a picture that was drawn from another text",
    gate: "pictures:check",
    files: { "docs/pictures/lanes.mmd": (text) => text.replace("One lost packet", "A seed") },
    expect: /npm run pictures draws anew: .*lanes\.svg/,
  },
  {
    what: "a picture of a terminal that prints something else now",
    gate: "pictures:check",
    files: { "docs/pictures/terminal-gen.svg": (text) => text.replace("wrote", "seeded") },
    expect: /npm run pictures:terminal draws anew: .*terminal-gen\.svg/,
  },
  {
    what: "a picture of a studio that shows something else now",
    gate: "pictures:check",
    files: { "docs/pictures/studio.txt": (text) => text.replace("Example", "Seed") },
    expect: /npm run pictures:studio draws anew/,
  },
  {
    what: "links that lead nowhere, and questions that the search does not answer",
    gate: "docs:build",
    files: {
      "docs/glossary.md": (text) =>
        `${text}\n[a](calls.md#seeded) [b](https://github.com/quicrpc/quicrpc/blob/main/seeded.md) [c](https:///) [d](ftp://seeded)\n`,
      "site/questions.mjs": (text) =>
        text.replace(
          "QUESTIONS = [",
          'QUESTIONS = [{ asked: "docker", answers: ["/glossary#glossary"] }, { asked: "seed", answers: ["/calls#seed"] },',
        ),
    },
    judge: (output) =>
      [
        "/glossary: /calls#seeded",
        "/glossary.md: /calls.md#seeded",
        "/glossary: https://github.com/quicrpc/quicrpc/blob/main/seeded.md",
        "/glossary: https:///",
        "/glossary: ftp://seeded",
        '"docker" finds /deploying#docker',
        '"seed" is answered by /calls#seed, which is no section',
      ].filter((line) => !output.includes(line)),
  },
  {
    what: "a page that no section of the site lists",
    gate: "docs:build",
    files: { "docs/seeded.md": "# A seed\n" },
    expect: /site\/sections\.mjs has no place for seeded/,
  },
  {
    what: "a figure that the kept results do not have",
    gate: "figures:check",
    files: {
      "README.md": (text) =>
        text.replace(/calls a second, 64 in flight \| [\d,]+/, "calls a second, 64 in flight | 999,999"),
    },
    expect: /README\.md is not what docs\/benchmarks\/results\.json says/,
  },
  {
    gate: "layout:check",
    files: {
      "packages/quic/native/src/layout.rs": (text) => text.replace("Drain = 6", "Drain = 7"),
    },
    expect: /layout\.rs is not what it would be now/,
  },
  {
    what: "a comment that names a file that is gone",
    gate: "check:mentions",
    files: { [`${CORE}/seeded.ts`]: "/** As `wire/no-such-file.ts` has it. */\nexport const seeded: number = 1;\n" },
    expect: /seeded\.ts:1: there is no wire\/no-such-file\.ts/,
  },
  {
    what: "a doc comment without its subject, in words of this house",
    gate: "check:mentions",
    files: { [`${CORE}/seeded.ts`]: "/** What looks after it. */\nexport const seeded: number = 1;\n" },
    expect: /seeded\.ts:1: a doc comment begins with "What".*\n.*write "handles" for "looks after"/,
  },
  {
    what: "a page that tells of an option that the command has not",
    gate: "check:mentions",
    files: { "README.md": (text) => `${text}\nRun \`npx quicrpc gen --seeded\`, or \`npm run seeded\`.\n` },
    expect: /README\.md:\d+: quicrpc gen has no --seeded\n.*there is no npm run seeded/,
  },
  {
    what: "a promise that no test holds",
    gate: "check:mentions",
    files: { "docs/once.md": (text) => text.replace('"joins the one that runs"', '"joins what was seeded", C999') },
    expect: /docs\/once\.md:\d+: there is no test "joins what was seeded"\n.*there is no test C999/,
  },
  {
    what: "a page with code of no file, and JSON that is none",
    gate: "snippets:check",
    files: {
      "docs/calls.md": (text) => `${text}\n\`\`\`ts\nawait seeded();\n\`\`\`\n\n\`\`\`json\n{ seeded: 1 }\n\`\`\`\n`,
    },
    expect: /docs\/calls\.md:\d+ has code of no file[^]*docs\/calls\.md:\d+ has JSON that cannot be read/,
  },
  {
    what: "a page whose code is not that of its file",
    gate: "snippets:check",
    files: { "README.md": (text) => text.replace("left >= 0", "left > 0") },
    expect: /the code in README\.md is not that of its files/,
  },
  {
    what: "a workflow without a runner",
    gate: "lint:workflows",
    files: { ".github/workflows/seeded.yml": "on: push\njobs:\n  seeded:\n    steps: [{ run: 'true' }]\n" },
    expect: /seeded\.yml.*runs-on/,
  },
  {
    what: "an action by its tag",
    gate: "lint:workflows",
    files: {
      ".github/workflows/seeded.yml":
        "on: push\njobs:\n  seeded:\n    runs-on: ubuntu-latest\n    steps: \n      - uses: actions/checkout@v4\n",
    },
    expect: /seeded\.yml.*not named by its commit/,
  },
  {
    what: "bad formatting in Rust",
    gate: "check:rust",
    files: { "packages/quic/native/src/lib.rs": (text) => `${text}\npub fn seeded( ) { }\n` },
    expect: /Diff in .*lib\.rs/,
  },
  {
    what: "a vendored crate that was changed by hand",
    gate: "check:rust",
    files: { "packages/quic/native/vendor/quinn-proto/src/frame.rs": (text) => `${text}\n// seeded\n` },
    expect: /vendor is not quinn-proto .*frame\.rs/,
  },
  {
    what: "a clippy lint",
    gate: "check:rust",
    files: { "packages/quic/native/src/lib.rs": (text) => `${text}\npub fn seeded(n: u8) -> bool {\n    n == n\n}\n` },
    expect: /eq_op/,
  },
  {
    what: "unsafe Rust outside its module",
    gate: "check:rust",
    files: {
      "packages/quic/native/src/ids.rs": (text) =>
        `${text}\npub fn seeded(byte: &u8) -> u8 {\n    // SAFETY: a reference.\n    unsafe { *std::ptr::from_ref(byte) }\n}\n`,
    },
    expect: /usage of an `unsafe` block/,
  },
];

const copy = mkdtempSync(join(tmpdir(), "quicrpc-gates-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));

if (!existsSync(join(root, "packages/cli/dist"))) fail("Nothing is built yet: run npm run build first.");
copyTree();

const only = process.argv[2];
let bad = 0;
const report = (ok, line, detail = "") => {
  if (!ok) bad += 1;
  console.log(`${ok ? "ok    " : "FAILED"} ${line}${ok || detail === "" ? "" : `\n${detail}`}`);
};

const chosen = seeds.filter(({ gate }) => only === undefined || gate === only);
const usable = new Set();
for (const gate of new Set(chosen.map((seed) => seed.gate))) {
  if (gate === "vitest") {
    usable.add(gate);
    continue;
  }
  const { code, output } = await runGate({ gate });
  const skipped = output.match(/^skipped: .*/m)?.[0];
  if (skipped !== undefined) console.log(`       ${gate}: ${skipped}`);
  else usable.add(gate);
  if (code !== 0)
    report(false, `${gate}: fails with nothing seeded`, output.trimEnd().split("\n").slice(0, 30).join("\n"));
}
for (const seed of chosen.filter(({ gate }) => usable.has(gate))) {
  const undo = plant(seed.files);
  const { code, output } = await runGate(seed);
  undo();
  const missed = seed.judge?.(output) ?? (seed.expect.test(output) ? [] : [`nothing matches ${seed.expect}`]);
  const ok = code !== 0 && missed.length === 0;
  report(
    ok,
    `${seed.gate}: ${seed.what}`,
    [`exit code ${code}`, ...missed, ...(seed.judge ? [] : [output.trimEnd()])].join("\n"),
  );
}
console.log(bad === 0 ? "Every gate holds." : `${bad} failed.`);
process.exit(bad === 0 ? 0 : 1);

function runGate({ gate, args = [], command }) {
  const { args: npmArgs, ...how } = npm(["run", "--silent", gate, "--", ...args]);
  const env = { NO_COLOR: "1", CARGO_TARGET_DIR: join(root, "packages/quic/native/target") };
  return run(command ?? npmArgs, { ...(command === undefined ? how : {}), cwd: copy, capture: true, env });
}

/** Writes the files of a seed, and returns what takes them away again. */
function plant(files) {
  const before = Object.keys(files).map((path) => {
    const full = join(copy, path);
    return { full, text: existsSync(full) ? readFileSync(full, "utf8") : undefined };
  });
  for (const [path, content] of Object.entries(files)) {
    const full = join(copy, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, typeof content === "string" ? content : content(readFileSync(full, "utf8")));
  }
  return () => {
    for (const { full, text } of before) {
      if (text === undefined) rmSync(full);
      else writeFileSync(full, text);
    }
  };
}

function copyTree() {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const path of listed
    .toString()
    .split("\0")
    .filter((name) => name !== "" && existsSync(join(root, name)))) {
    cpSync(join(root, path), join(copy, path));
  }
  execFileSync("git", ["init", "--quiet"], { cwd: copy });
  for (const workspace of ["packages", "examples"]) {
    for (const name of readdirSync(join(root, workspace))) linkModules(join(workspace, name));
    // Every package sees the others' types, and what their exports name, before the first build.
    for (const name of readdirSync(join(root, workspace))) {
      for (const built of [join(workspace, name, "dist"), join(workspace, name, "bundle")]) {
        if (existsSync(join(root, built))) cpSync(join(root, built), join(copy, built), { recursive: true });
      }
    }
  }
  for (const folder of ["", "site"]) linkModules(folder);
}

/** Links each installed package, but keeps the links between workspaces inside the copy. */
function linkModules(folder) {
  const from = join(root, folder, "node_modules");
  if (!existsSync(from)) return;
  const to = join(copy, folder, "node_modules");
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const path = join(from, entry.name);
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(path), join(to, entry.name));
    else if (entry.name.startsWith("@quicrpc"))
      cpSync(path, join(to, entry.name), { recursive: true, verbatimSymlinks: true });
    else if (!entry.name.startsWith(".") || entry.name === ".bin") symlinkSync(path, join(to, entry.name));
  }
}
