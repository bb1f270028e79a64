import type { ts as compiler } from "ts-morph";
import { ts } from "./source/compiler.js";

/** Matches packages that do not import modules of the project, so that they can be loaded before those. */
const PACKAGES = /^(?:zod|@quicrpc\/core)(?:\/|$)/;

/** First line of a converted module, to which jiti adds text. */
export const PREFIX: string = '"use strict";\n';

/** Kinds of TypeScript syntax that are not JavaScript even after types are removed. */
const UNKNOWN: ReadonlySet<compiler.SyntaxKind> = new Set([
  ts.SyntaxKind.AsExpression,
  ts.SyntaxKind.SatisfiesExpression,
  ts.SyntaxKind.NonNullExpression,
  ts.SyntaxKind.TypeAssertionExpression,
  ts.SyntaxKind.TypeParameter,
  ts.SyntaxKind.ExpressionWithTypeArguments,
  ts.SyntaxKind.Decorator,
]);

/**
 * Converts a module to CommonJS without the compiler, which is much faster. Supports modules that only import names
 * from packages and declare constants, as most schema modules do; returns undefined for others. All code keeps its
 * position.
 *
 * @param load name of the function that imports a module, such as `require`
 */
export function plainModule(file: compiler.SourceFile, source: string, load: string): string | undefined {
  const exported: string[] = [];
  const parts: string[] = [];
  let end = 0;
  const replace = (start: number, stop: number, text: string): void => {
    parts.push(source.slice(end, start), text);
    end = stop;
  };
  for (const statement of file.statements) {
    const start = statement.getStart(file);
    if (ts.isImportDeclaration(statement)) {
      const text = importText(statement, file, load);
      if (text === undefined) return undefined;
      const lines = source.slice(start, statement.end).split("\n").length - 1;
      replace(start, statement.end, text + "\n".repeat(lines));
    } else if (ts.isVariableStatement(statement) && isPlain(statement)) {
      const [modifier, ...others] = statement.modifiers ?? [];
      if (others.length > 0) return undefined;
      if (modifier === undefined) continue;
      if (modifier.kind !== ts.SyntaxKind.ExportKeyword) return undefined;
      replace(start, modifier.end, " ".repeat(modifier.end - start));
      for (const { name } of statement.declarationList.declarations) {
        if (!ts.isIdentifier(name)) return undefined;
        exported.push(name.text);
      }
    } else return undefined;
  }
  parts.push(source.slice(end));
  const assigned = exported.map((name) => `exports.${name} = ${name};`).join(" ");
  return `${PREFIX}${parts.join("")}\nObject.defineProperty(exports, "__esModule", { value: true }); ${assigned}\n`;
}

/**
 * Converts an import to a declaration of constants. Returns undefined if it imports anything but names from a package.
 */
function importText(
  { importClause, moduleSpecifier, attributes }: compiler.ImportDeclaration,
  file: compiler.SourceFile,
  load: string,
): string | undefined {
  const bindings = importClause?.namedBindings;
  if (!ts.isStringLiteral(moduleSpecifier) || !PACKAGES.test(moduleSpecifier.text) || attributes !== undefined) {
    return undefined;
  }
  if (bindings === undefined || !ts.isNamedImports(bindings) || importClause?.name !== undefined) return undefined;
  if (importClause?.isTypeOnly === true) return "";
  const names = bindings.elements
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ name, propertyName }) =>
      propertyName === undefined ? name.text : `${propertyName.getText(file)}: ${name.text}`,
    );
  return `const { ${names.join(", ")} } = ${load}${moduleSpecifier.getText(file)});`;
}

/** Returns true if `node` contains no syntax that only TypeScript has. */
function isPlain(node: compiler.Node): boolean {
  if (UNKNOWN.has(node.kind) || ts.isTypeNode(node)) return false;
  return ts.forEachChild(node, (child) => (isPlain(child) ? undefined : true)) === undefined;
}
