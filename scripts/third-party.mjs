// Writes packages/quic/native/THIRD-PARTY.md: the licences of all code compiled into the engine, on every platform.
// `--check` compares instead. Needs cargo, which fetches the crates' sources.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeEngineSources } from "../packages/quic/scripts/engine-sources.mjs";
import { fail, root, run } from "./setup.mjs";

const crate = join(root, "packages/quic/native");
const page = join(crate, "THIRD-PARTY.md");
/** File names of licences, of which one that is chosen suffices. */
const LICENCE = /^(licen[cs]e|copying|unlicense|notice)/i;
/** Where there are several licences, the first of these is taken. */
const PREFERRED = ["MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Zlib", "Unicode-3.0"];

if ((await run(["--version"], { command: "cargo", capture: true })).code !== 0) {
  console.log("skipped: needs cargo");
  process.exit(0);
}
writeEngineSources();
const metadata = ["metadata", "--locked", "--format-version", "1"];
const { code, output } = await run(metadata, {
  command: "cargo",
  cwd: crate,
  capture: true,
  env: { CARGO_TERM_QUIET: "true" },
});
if (code !== 0) fail("cargo metadata failed.", output);
const { packages, resolve } = JSON.parse(output.slice(output.indexOf("{")));
const byId = new Map(packages.map((one) => [one.id, one]));
const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));

/** Crates that end up in the library: no build scripts, no tests, nothing that runs in the compiler. */
function compiledIn() {
  const found = new Set();
  const visit = (id) => {
    const macro = byId.get(id).targets.some(({ kind }) => kind.includes("proc-macro"));
    if (found.has(id) || macro) return;
    found.add(id);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null)) visit(pkg);
    }
  };
  visit(resolve.root);
  found.delete(resolve.root);
  return [...found].map((id) => byId.get(id)).sort((a, b) => (a.name + a.version < b.name + b.version ? -1 : 1));
}

function textsOf({ name, license, license_file: named, manifest_path: manifest, authors, repository }) {
  const folder = dirname(manifest);
  const files = readdirSync(folder)
    .filter((file) => LICENCE.test(file) && !file.endsWith(".rs"))
    .sort();
  const chosen = PREFERRED.find((one) => license?.includes(one)) ?? "";
  const short = chosen.split("-")[0].toLowerCase();
  const ofThat = files.filter((file) => file.toLowerCase().includes(short));
  const taken = ofThat.length > 0 ? ofThat : files.length > 0 ? files : named ? [named] : [];
  if (taken.length === 0)
    return `${license}; the sources of ${name} have no copy of its text. By: ${authors.join(", ") || repository}`;
  return taken.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r", "").trim()).join("\n\n");
}

const crates = compiledIn();
const byText = new Map();
for (const one of crates) {
  const text = textsOf(one);
  byText.set(text, [...(byText.get(text) ?? []), one]);
}
const listed = crates.map(({ name, version, license }) => `| ${name} | ${version} | ${license ?? "see below"} |`);
const sections = Array.from(byText, ([text, ones]) => {
  const heading = ones.map(({ name, version }) => `${name} ${version}`).join(", ");
  return `## ${heading}\n\n\`\`\`text\n${text.replaceAll("```", "'''")}\n\`\`\``;
});
const written = `# Third-party notices

The engine of @quicrpc/quic is compiled from these crates, and from Rust's standard library (MIT OR Apache-2.0,
© The Rust Project Contributors). \`node scripts/third-party.mjs\` writes this page.

| crate | version | licence |
|---|---|---|
${listed.join("\n")}

${sections.join("\n\n")}
`;
if (process.argv[2] !== "--check") {
  writeFileSync(page, written);
  console.log(`${crates.length} crates`);
} else if (!existsSync(page) || readFileSync(page, "utf8") !== written) {
  fail(
    "packages/quic/native/THIRD-PARTY.md is not what the engine is built from: node scripts/third-party.mjs writes it.",
  );
}
