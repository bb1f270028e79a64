// Reads doc comments of the sources, for the pages of the reference that are written from them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Node, Project, SyntaxKind } from "ts-morph";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));
const strictly = { target: 99, module: 199, moduleResolution: 99, strict: true, exactOptionalPropertyTypes: true };

/** What programs import, by name, with the path of its source: `@quicrpc/core` is `packages/core/src/index.ts`. */
export const entries = new Map();
for (const folder of readdirSync(`${ROOT}packages`)) {
  const description = `${ROOT}packages/${folder}/package.json`;
  if (!existsSync(description)) continue;
  const { name, exports = {} } = JSON.parse(readFileSync(description, "utf8"));
  for (const [path, { types }] of Object.entries(exports)) {
    if (types?.startsWith("./dist/") !== true) continue;
    entries.set(name + path.slice(1), types.replace("./dist/", `packages/${folder}/src/`).replace(/\.d\.ts$/, ".ts"));
  }
}

const project = new Project({
  compilerOptions: {
    ...strictly,
    baseUrl: ROOT,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    paths: Object.fromEntries(Array.from(entries, ([name, source]) => [name, [source]])),
    types: ["node"],
  },
  skipAddingFilesFromTsConfig: true,
});

/** Returns a source file, by its path below `packages`. */
export function sourceOf(path) {
  return project.addSourceFileAtPath(`${ROOT}packages/${path}`);
}

/** Every source of the packages but tests. */
export function allSources() {
  return project
    .addSourceFilesAtPaths(`${ROOT}packages/*/src/**/*.ts`)
    .filter((file) => !file.getFilePath().endsWith(".test.ts"));
}

/** Returns a comment on one line: links to pages are links, and what only editors understand is gone. */
export function oneLine(comment) {
  return comment
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll(/\(docs\/([\w-]+)\.md\)/g, "([more](https://docs/$1.md))")
    .replaceAll("https://docs/", "");
}

/** Returns text for a cell of a table. */
export function cell(text) {
  return text.replaceAll("|", "\\|");
}

/** Returns the doc comment of a declaration, on one line; "" where there is none. */
export function docOf(node) {
  return (
    node
      .getJsDocs?.()
      .map((doc) => oneLine(doc.getDescription()))
      .join(" ") ?? ""
  );
}

function isInternal(node) {
  return node.getJsDocs?.().some((doc) => doc.getTags().some((tag) => tag.getTagName() === "internal")) ?? false;
}

/** The properties that an object of an interface may have, inherited ones too: each with its declaration, comment and whether it may be missing. */
export function propertiesOf(path, name) {
  const file = sourceOf(path);
  const declaration = file.getInterface(name) ?? file.getTypeAliasOrThrow(name);
  const properties = [];
  for (const symbol of declaration.getType().getProperties()) {
    const [node] = symbol.getDeclarations();
    if (node === undefined || !Node.isPropertySignature(node) || isInternal(node)) continue;
    properties.push({ name: symbol.getName(), node, text: docOf(node), isOptional: symbol.isOptional() });
  }
  return properties;
}

/** The object or array that a constant is. */
export function literalOf(path, name, kind) {
  const initializer = sourceOf(path).getVariableDeclarationOrThrow(name).getInitializerOrThrow();
  return initializer.asKind(kind) ?? initializer.getFirstDescendantByKindOrThrow(kind);
}

/** The numbers, texts and flags of a constant that is an object, by name. */
export function constantsOf(path, name) {
  return new Map(
    literalOf(path, name, SyntaxKind.ObjectLiteralExpression)
      .getProperties()
      .map((property) => [property.getName(), valueOf(property.getInitializerOrThrow())]),
  );
}

function valueOf(node) {
  const text = node.getText();
  if (text === "Number.POSITIVE_INFINITY" || text === "Infinity") return Infinity;
  if (Node.isTrueLiteral(node) || Node.isFalseLiteral(node)) return Node.isTrueLiteral(node);
  if (Node.isStringLiteral(node)) return node.getLiteralValue();
  const factors = text.split(" * ").map((factor) => Number(factor.replaceAll("_", "")));
  const product = factors.reduce((sum, factor) => sum * factor, 1);
  if (Number.isNaN(product)) throw new Error(`${text} is no constant that this script reads`);
  return product;
}

/** Returns the comments right before the elements of an array, the properties of an object or the members of an interface, by name. */
export function commentsBefore(nodes) {
  return new Map(
    nodes.map((node) => {
      const comment = node.getLeadingCommentRanges().at(-1)?.getText() ?? "";
      const text = comment.replaceAll(/^\/\*\*|\*\/$/g, "").replaceAll(/^[^\S\n]*\*[^\S\n]?/gm, "");
      const name = Node.isStringLiteral(node) ? node.getLiteralValue() : node.getName();
      return [
        name,
        text
          .trim()
          .split(/\n\s*\n/)
          .map(oneLine),
      ];
    }),
  );
}
