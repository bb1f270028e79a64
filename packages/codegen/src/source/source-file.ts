import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Expression, Node, Project, type SourceFile, ts } from "ts-morph";

/** The source of a schema module, read for comments and positions only: nothing is type-checked. */
export interface SchemaSource {
  readonly file: SourceFile;
  /** The expression that an export of the module stands for, followed through re-exports by relative path. */
  exported(name: string): Expression | undefined;
  /** The expression that an identifier stands for, followed through imports by relative path. */
  resolve(identifier: Expression): Expression | undefined;
}

/** Parses the module at `path`. */
export function readSource(path: string): SchemaSource {
  const project = new Project({
    skipAddingFilesFromTsConfig: true,
    skipFileDependencyResolution: true,
    compilerOptions: { noResolve: true, noLib: true, allowJs: true },
  });
  const file = project.addSourceFileAtPath(path);
  return {
    file,
    exported: (name) => exportedExpression(project, file, name, 0),
    resolve: (identifier) =>
      Node.isIdentifier(identifier)
        ? localExpression(project, identifier.getSourceFile(), identifier.getText(), 0)
        : undefined,
  };
}

/** `expression` without `as`, `satisfies`, `!` and parentheses. */
export function unwrapExpression(expression: Expression): Expression {
  let current = expression;
  while (
    Node.isAsExpression(current) ||
    Node.isSatisfiesExpression(current) ||
    Node.isParenthesizedExpression(current) ||
    Node.isNonNullExpression(current)
  ) {
    current = current.getExpression();
  }
  return current;
}

const MAX_HOPS = 16;

function exportedExpression(project: Project, file: SourceFile, name: string, hops: number): Expression | undefined {
  if (hops > MAX_HOPS) return undefined;
  if (name === "default") {
    const assignment = file.getExportAssignment((each) => !each.isExportEquals());
    if (assignment !== undefined) {
      const expression = unwrapExpression(assignment.getExpression());
      return Node.isIdentifier(expression) ? localExpression(project, file, expression.getText(), hops) : expression;
    }
  }
  for (const declaration of file.getExportDeclarations()) {
    const target = declaration.getModuleSpecifierValue();
    const other = target === undefined ? file : openRelative(project, file, target);
    if (other === undefined) continue;
    const named = declaration
      .getNamedExports()
      .find((each) => (each.getAliasNode()?.getText() ?? each.getName()) === name);
    if (named !== undefined) {
      return other === file
        ? localExpression(project, file, named.getName(), hops + 1)
        : exportedExpression(project, other, named.getName(), hops + 1);
    }
    if (declaration.isNamespaceExport() && other !== file && declaration.getNamespaceExport() === undefined) {
      const found = exportedExpression(project, other, name, hops + 1);
      if (found !== undefined) return found;
    }
  }
  return localExpression(project, file, name, hops);
}

function localExpression(project: Project, file: SourceFile, name: string, hops: number): Expression | undefined {
  if (hops > MAX_HOPS) return undefined;
  const initializer = file.getVariableDeclaration(name)?.getInitializer();
  if (initializer !== undefined) {
    const expression = unwrapExpression(initializer);
    return Node.isIdentifier(expression) ? localExpression(project, file, expression.getText(), hops + 1) : expression;
  }
  for (const declaration of file.getImportDeclarations()) {
    const named = declaration
      .getNamedImports()
      .find((each) => (each.getAliasNode()?.getText() ?? each.getName()) === name);
    const isDefault = declaration.getDefaultImport()?.getText() === name;
    if (named === undefined && !isDefault) continue;
    const other = openRelative(project, file, declaration.getModuleSpecifierValue());
    return other && exportedExpression(project, other, named?.getName() ?? "default", hops + 1);
  }
  return undefined;
}

function openRelative(project: Project, from: SourceFile, specifier: string): SourceFile | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const path = resolve(dirname(from.getFilePath()), specifier);
  const candidates = [
    path.replace(/\.([cm]?)js$/, ".$1ts"),
    path,
    `${path}.ts`,
    `${path}.mts`,
    `${path}/index.ts`,
    path.replace(/\.js$/, ".tsx"),
  ];
  const found = candidates.find((each) => /\.[cm]?[jt]sx?$/.test(each) && existsSync(each));
  return found === undefined ? undefined : project.addSourceFileAtPath(found);
}

/** The text of the JSDoc comment before `node`, without tags other than `@deprecated`. */
export function jsDocOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  const statement = Node.isVariableDeclaration(node) ? node.getVariableStatement() : undefined;
  const compiled = (statement ?? node).compilerNode;
  const docs = ts.getJSDocCommentsAndTags(compiled).filter(ts.isJSDoc);
  const last = docs.at(-1);
  if (last === undefined) return undefined;
  const lines = [ts.getTextOfJSDocComment(last.comment) ?? ""];
  for (const tag of last.tags ?? []) {
    if (tag.tagName.text === "deprecated") {
      lines.push(`@deprecated ${ts.getTextOfJSDocComment(tag.comment) ?? ""}`.trimEnd());
    }
  }
  const text = lines.filter((line) => line !== "").join("\n\n");
  return text === "" ? undefined : text;
}
