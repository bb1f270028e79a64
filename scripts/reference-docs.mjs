// npm run reference:docs: writes what pages say of the code and of the command, between such comments:
//   <!-- options core/src/limits.ts#Limits -->  …  <!-- end of options -->
// a table of the properties of an interface, from their doc comments; and docs/cli.md, from the help of `quicrpc`. After the interface:
//   without a.ts#A x        leaves out the properties of other interfaces, and the one that is named
//   only x y                the properties that are named
//   defaults NAME           the defaults are those of a constant of the same file, not those of the comments
// npm run docs:check fails where a page says something else, where the comment of an option is missing or does not state its default, and where
// docs/error-codes.md lacks a code or has one that was removed.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Node, Project } from "ts-morph";
import { reference } from "./docs.mjs";
import { fail, root, run, tool } from "./setup.mjs";

const PLACE =
  /<!-- options ([^ ]+)(?: without ([^>]*?))?(?: only ([^>]*?))?(?: defaults (\w+))? -->\n(.*?)<!-- end of options -->/gs;
const packages = join(root, "packages");
const faults = [];

const paths = {};
for (const folder of readdirSync(packages)) {
  const manifest = join(packages, folder, "package.json");
  if (!existsSync(manifest)) continue;
  const { name, exports = {} } = JSON.parse(readFileSync(manifest, "utf8"));
  for (const [path, { types }] of Object.entries(exports)) {
    if (types?.startsWith("./dist/") !== true) continue;
    paths[name + path.slice(1)] = [types.replace("./dist/", `packages/${folder}/src/`).replace(/\.d\.ts$/, ".ts")];
  }
}
const lib = ["lib.es2023.d.ts", "lib.dom.d.ts"];
const strictly = { target: 99, module: 199, moduleResolution: 99, strict: true, exactOptionalPropertyTypes: true };
const project = new Project({
  compilerOptions: { ...strictly, baseUrl: root, lib, paths, types: ["node"] },
  skipAddingFilesFromTsConfig: true,
});

/** Returns a doc comment on one line, for a cell of a table, with links to pages as links. */
function docOf(node) {
  const comments = node.getJsDocs().map((doc) => doc.getDescription().trim());
  return comments
    .join(" ")
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll(/\(docs\/([\w-]+)\.md\)/g, "([more]($1.md))")
    .replaceAll("https://docs/", "")
    .replaceAll("|", "\\|");
}

const isInternal = (node) =>
  node.getJsDocs().some((doc) => doc.getTags().some((tag) => tag.getTagName() === "internal"));

/** The properties of an interface, inherited ones too. */
function propertiesOf(key) {
  const [path, name] = key.split("#");
  const file = project.addSourceFileAtPath(join(packages, path));
  const type = (file.getInterface(name) ?? file.getTypeAliasOrThrow(name)).getType();
  return type.getProperties().flatMap((symbol) => {
    const [node] = symbol.getDeclarations();
    if (node === undefined || !Node.isPropertySignature(node) || isInternal(node)) return [];
    return [{ name: symbol.getName(), node, text: docOf(node), isOptional: symbol.isOptional() }];
  });
}

/** Splits the default that a comment states, if it is short and the whole of its sentence, from the rest of the comment. */
function splitDefault(text) {
  const match = /(?:^| )Default:? ((?:`[^`]*`|"[^"]*"|\.(?=\S)|[^.])+?)(?:\.(?= |$)|$)/.exec(text);
  if (match === null || match[1].length > 48 || match[1].includes(";")) return { text };
  const rest = `${text.slice(0, match.index)}${text.slice(match.index + match[0].length)}`;
  return { value: match[1].trim(), text: rest.trim() };
}

/** A default as a person writes it: bytes in powers of two, milliseconds in seconds. */
function shown(name, value) {
  if (value === Infinity) return "no limit";
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") return `"${value}"`;
  const units = [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [1024, "KiB"],
  ];
  const unit = /bytes|window|watermark|buffer/i.test(name) && value > 0 && units.find(([size]) => value % size === 0);
  if (unit) return `${value / unit[0]} ${unit[1]}`;
  if (name.endsWith("Ms") && value >= 1000 && value % 1000 === 0) return `${(value / 1000).toLocaleString("en")} s`;
  return `${value.toLocaleString("en")}${name.endsWith("Ms") ? " ms" : ""}`;
}

const pages = [
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
  ...readdirSync(packages).map((name) => `packages/${name}/README.md`),
].filter((page) => page.endsWith(".md") && existsSync(join(root, page)));

/** Pages whose tables have the types of options. */
const typed = (page) => /options\.md$|quic\/README/.test(page);

/** Where the pages describe an interface: the page, and the anchor of the heading. */
const anchors = new Map();
for (const page of pages.toSorted((one, other) => typed(one) - typed(other))) {
  const text = readFileSync(join(root, page), "utf8");
  for (const [, title, place] of text.matchAll(/^##+ (.*)\n(?:(?!##).*\n)*?<!-- options (\S+)/gm)) {
    const anchor = title.toLowerCase().replaceAll(/[^\w\s-]/g, "");
    anchors.set(place, { page, anchor: anchor.replaceAll(" ", "-") });
  }
}

/** Returns the link from one page to a place on another. */
function linkOf(from, { page, anchor }) {
  return page === from ? `#${anchor}` : `${relative(dirname(from), page)}#${anchor}`;
}

/** The type of an option as a reader needs it: short ones in full, and links to the options of objects. */
function typeOf(node, page) {
  const typeNode = node.getTypeNodeOrThrow();
  const text = typeNode
    .getText()
    .replaceAll(/\s+/g, " ")
    .replace(/^\| /, "")
    .replace(/ \| undefined$/, "");
  if (/^Partial<Limits>|^NonNullable<SessionOptions.*limits/.test(text)) return "[limits](limits.md)";
  if (/^(?:Quic(?:Listen)?Options|(?:Listen)?TransportOptions)$/.test(text))
    return "[options](limits.md#of-a-quic-connection)";
  for (const identifier of typeNode.getDescendants().filter(Node.isIdentifier)) {
    const symbol = identifier.getSymbol();
    for (const declaration of (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? []) {
      const [, path] = /\/packages\/(.*)$/.exec(declaration.getSourceFile().getFilePath()) ?? [];
      const place = anchors.get(`${path}#${identifier.getText()}`);
      if (place !== undefined) return `[options](${linkOf(page, place)})`;
    }
  }
  if (text.includes("=>") || node.getType().getNonNullableType().getCallSignatures().length > 0) return "function";
  return text.length <= 44 ? `\`${text.replaceAll("|", "\\|")}\`` : "object";
}

/** The table of one place on a page. */
async function tableOf({ key, without = "", only, defaults }, page) {
  const [path] = key.split("#");
  const words = without.split(" ");
  const others = new Set(
    words.filter((word) => word.includes("#")).flatMap((other) => propertiesOf(other).map(({ node }) => node)),
  );
  const wanted = propertiesOf(key)
    .filter(({ name, node }) => !others.has(node) && !words.includes(name))
    .filter(({ name }) => only?.split(" ").includes(name) !== false);
  const module = join(packages, path.replace("/src/", "/dist/").replace(/\.ts$/, ".js"));
  const constants = defaults === undefined ? undefined : (await import(module))[defaults];
  const rows = wanted.map(({ name, node, text: whole, isOptional }) => {
    if (whole === "") faults.push(`${key}: ${name} has no comment`);
    if (constants === undefined && isOptional && !/\bdefault\b/i.test(whole))
      faults.push(`${key}: the comment of ${name} states no default`);
    const { value = "", text } = splitDefault(whole);
    const number = Number(value.replaceAll(",", "") || NaN);
    if (constants !== undefined && number >= 0 && number !== constants[name])
      faults.push(`${key}: the comment of ${name} says ${value}, and ${defaults} has ${constants[name]}`);
    const [first, rest] =
      constants !== undefined
        ? [shown(name, constants[name]), number >= 0 ? text : whole]
        : isOptional
          ? [value, text]
          : ["**required**", text];
    return [`\`${name}\``, first, typed(page) ? `${typeOf(node, page)} · ${rest}` : rest];
  });
  return reference(["| option | default | |", "|---|---|---|"], rows);
}

async function helpOf(...words) {
  const { code, output } = await run([...tool.quicrpc, ...words, "--help"], { capture: true, env: { NO_COLOR: "1" } });
  if (code !== 0) throw new Error(output);
  return output.trimEnd();
}

/** The page of the command: its prose stays, the help texts follow it. */
async function cliPage(before) {
  const overview = await helpOf();
  const listed = overview.split("\nCommands:\n")[1].split("\n\n")[0];
  const names = Array.from(listed.matchAll(/^ {2}(\w[\w-]*)/gm), ([, name]) => name);
  const fence = (text) => `\`\`\`text\n${text}\n\`\`\``;
  const sections = await Promise.all(names.map(async (name) => `## quicrpc ${name}\n\n${fence(await helpOf(name))}\n`));
  const [prose] = before.split("\n## quicrpc ");
  return `${prose.replace(/```text\n.*?\n```/s, () => fence(overview))}\n${sections.join("\n")}`;
}

/** Codes that only the sources or only the page of error codes have. */
function codeFaults() {
  const page = readFileSync(join(root, "docs/error-codes.md"), "utf8");
  const sources = readdirSync(packages, { encoding: "utf8", recursive: true }).filter(
    (name) => /^[\w-]+\/(?:src|native\/src)\/.*\.(?:ts|rs)$/.test(name) && !name.endsWith(".test.ts"),
  );
  const texts = sources.map((name) => readFileSync(join(packages, name), "utf8")).join();
  const codes = texts.matchAll(/"(ERR_(?:QUIC|TLS|FAILS|GOAWAY|WEBTRANSPORT|TRANSPORT|UNREACHABLE|FORBIDDEN)\w*)"/g);
  const calls = /CODES = \[(.*?)\n\]/s
    .exec(readFileSync(join(packages, "core/src/codes.ts"), "utf8"))[1]
    .matchAll(/"(\w+)"/g);
  const all = new Set([...codes, ...calls].map(([, code]) => code).filter((code) => code !== "ok"));
  // The codes of calls have numbers. Those of Node and the system are keys of tables.
  const listed = Array.from(page.matchAll(/^\| `([A-Z]\w+|\w+(?=` \| \d))` \|/gm), ([, code]) => code);
  const isKnown = (code) => all.has(code) || (/^[A-Z]/.test(code) && new RegExp(`\\b${code}[":]`).test(texts));
  return [
    ...[...all].filter((code) => !page.includes(`\`${code}\``)).map((code) => `does not have ${code}`),
    ...listed.filter((code) => !isKnown(code)).map((code) => `has ${code}, which the sources lack`),
  ].map((fault) => `docs/error-codes.md ${fault}`);
}

function put(page, text, before) {
  if (text === before) return;
  if (process.argv.includes("--check"))
    faults.push(`${page} is not what the code says: npm run reference:docs writes it`);
  else writeFileSync(join(root, page), text);
}

for (const page of pages) {
  const before = readFileSync(join(root, page), "utf8");
  let text = before;
  for (const [place, key, without, only, defaults, table] of before.matchAll(PLACE)) {
    let rows = await tableOf({ key, without, only, defaults }, page);
    if (!page.startsWith("docs/")) rows = rows.replaceAll(/\]\((?=[\w-]+\.md)/g, "](../../docs/");
    const begin = place.slice(0, place.length - table.length - "<!-- end of options -->".length);
    text = text.replace(place, () => `${begin}\n${rows}\n\n<!-- end of options -->`);
  }
  put(page, text, before);
}
const cli = readFileSync(join(root, "docs/cli.md"), "utf8");
put("docs/cli.md", await cliPage(cli), cli);
faults.push(...codeFaults());
if (faults.length > 0) fail(faults.join("\n"));
