import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Expression, SourceFile } from "ts-morph";
import { Node, Project, ts } from "./compiler.js";
import type { Parse } from "../transpile.js";
import type { TsConfigs } from "../tsconfig.js";

/** The source of a schema module, read for comments and positions only: nothing is type-checked. */
export interface SchemaSource {
  readonly file: SourceFile;
  /** The expression that an export of the module stands for, followed through re-exports. */
  exported(name: string): Expression | undefined;
  /** The expression that an identifier stands for, followed through imports. */
  resolve(identifier: Expression): Expression | undefined;
}

/** Parses modules, each once, and finds its way between them as the compiler would: paths, workspaces, packages. */
export class SourceReader {
  readonly #project = new Project({
    skipAddingFilesFromTsConfig: true,
    skipFileDependencyResolution: true,
    compilerOptions: { noResolve: true, noLib: true, allowJs: true },
  });
  readonly #configs: TsConfigs;
  readonly #resolved = new Map<string, string | undefined>();
  /** What the names of a module stand for, as far as was asked. */
  readonly #locals = new WeakMap<SourceFile, Map<string, Expression | undefined>>();

  constructor(configs: TsConfigs) {
    this.#configs = configs;
  }

  /** Takes the text of a module that was read already. */
  readonly parse: Parse = (path, text) => this.#project.createSourceFile(path, text, { overwrite: true }).compilerNode;

  read(path: string): SchemaSource {
    const file = this.#project.addSourceFileAtPath(path);
    return {
      file,
      exported: (name) => this.#exported(file, name, 0),
      resolve: (identifier) =>
        Node.isIdentifier(identifier) ? this.#local(identifier.getSourceFile(), identifier.getText(), 0) : undefined,
    };
  }

  #exported(file: SourceFile, name: string, hops: number): Expression | undefined {
    if (hops > MAX_HOPS) return undefined;
    if (name === "default") {
      const assignment = file.getExportAssignment((each) => !each.isExportEquals());
      if (assignment !== undefined) {
        const expression = unwrapExpression(assignment.getExpression());
        return Node.isIdentifier(expression) ? this.#local(file, expression.getText(), hops) : expression;
      }
    }
    for (const declaration of file.getExportDeclarations()) {
      const target = declaration.getModuleSpecifierValue();
      const other = target === undefined ? file : this.#open(file, target);
      if (other === undefined) continue;
      const named = declaration
        .getNamedExports()
        .find((each) => (each.getAliasNode()?.getText() ?? each.getName()) === name);
      if (named !== undefined) {
        return other === file
          ? this.#local(file, named.getName(), hops + 1)
          : this.#exported(other, named.getName(), hops + 1);
      }
      if (declaration.isNamespaceExport() && other !== file && declaration.getNamespaceExport() === undefined) {
        const found = this.#exported(other, name, hops + 1);
        if (found !== undefined) return found;
      }
    }
    return this.#local(file, name, hops);
  }

  #local(file: SourceFile, name: string, hops: number): Expression | undefined {
    let names = this.#locals.get(file);
    if (names === undefined) this.#locals.set(file, (names = new Map()));
    if (!names.has(name)) names.set(name, this.#findLocal(file, name, hops));
    return names.get(name);
  }

  #findLocal(file: SourceFile, name: string, hops: number): Expression | undefined {
    if (hops > MAX_HOPS) return undefined;
    const initializer = file.getVariableDeclaration(name)?.getInitializer();
    if (initializer !== undefined) {
      const expression = unwrapExpression(initializer);
      return Node.isIdentifier(expression) ? this.#local(file, expression.getText(), hops + 1) : expression;
    }
    for (const declaration of file.getImportDeclarations()) {
      const named = declaration
        .getNamedImports()
        .find((each) => (each.getAliasNode()?.getText() ?? each.getName()) === name);
      const isDefault = declaration.getDefaultImport()?.getText() === name;
      if (named === undefined && !isDefault) continue;
      const other = this.#open(file, declaration.getModuleSpecifierValue());
      return other && this.#exported(other, named?.getName() ?? "default", hops + 1);
    }
    return undefined;
  }

  #open(from: SourceFile, specifier: string): SourceFile | undefined {
    const path = from.getFilePath();
    const key = `${dirname(path)} ${specifier}`;
    if (!this.#resolved.has(key)) this.#resolved.set(key, this.#find(path, specifier));
    const found = this.#resolved.get(key);
    return found === undefined ? undefined : this.#project.addSourceFileAtPath(found);
  }

  /** Where the source of a module is; undefined for what is known by its declarations only, as most packages are. */
  #find(from: string, specifier: string): string | undefined {
    if (specifier.startsWith(".")) {
      const path = resolve(dirname(from), specifier);
      const candidates = [
        path.replace(/\.([cm]?)js$/, ".$1ts"),
        path,
        `${path}.ts`,
        `${path}.mts`,
        `${path}/index.ts`,
        path.replace(/\.js$/, ".tsx"),
      ];
      return candidates.find((each) => /\.[cm]?[jt]sx?$/.test(each) && existsSync(each));
    }
    const options = { module: ts.ModuleKind.NodeNext, ...this.#configs.optionsFor(from) };
    const { resolvedModule } = ts.resolveModuleName(
      specifier,
      from,
      options,
      ts.sys,
      undefined,
      undefined,
      ts.ModuleKind.ESNext,
    );
    const file = resolvedModule?.resolvedFileName;
    return file !== undefined && /(?<!\.d)\.[cm]?[jt]sx?$/.test(file) ? file : undefined;
  }
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
