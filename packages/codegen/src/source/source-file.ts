import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Expression, type SourceFile, type SourceNode, ts } from "./compiler.js";
import { moduleNamesOf } from "./module-names.js";
import type { TsConfigs } from "../tsconfig.js";

/** The parsed source of a schema module. It is used only for comments and positions, and is not type-checked. */
export interface SchemaSource {
  /** Absolute path of the module. */
  readonly path: string;
  readonly variables: readonly string[];
  /** Returns the expression that an export of the module refers to, following re-exports. */
  exported(name: string): Expression | undefined;
  /** Returns the expression that an identifier refers to, following imports. */
  resolve(identifier: Expression): Expression | undefined;
}

/** Parses each module once, and resolves imports as the TypeScript compiler does: paths, workspaces and packages. */
export class SourceReader {
  readonly #configs: TsConfigs;
  readonly #files = new Map<string, SourceFile>();
  readonly #resolved = new Map<string, string | undefined>();
  readonly #locals = new WeakMap<SourceFile, Map<string, Expression | undefined>>();

  constructor(configs: TsConfigs) {
    this.#configs = configs;
  }

  readonly parse = (path: string, text: string): SourceFile => {
    const known = this.#files.get(path);
    if (known?.text === text) return known;
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
    this.#files.set(path, file);
    return file;
  };

  read(path: string): SchemaSource {
    const file = this.#read(path);
    return {
      path,
      variables: [...moduleNamesOf(file).variables.keys()],
      exported: (name) => this.#exported(file, name, 0),
      resolve: (identifier) =>
        ts.isIdentifier(identifier) ? this.#local(identifier.getSourceFile(), identifier.text, 0) : undefined,
    };
  }

  #read(path: string): SourceFile {
    return this.#files.get(path) ?? this.parse(path, readFileSync(path, "utf8"));
  }

  #exported(file: SourceFile, name: string, hops: number): Expression | undefined {
    if (hops > MAX_HOPS) return undefined;
    const { defaultExport, passedOn } = moduleNamesOf(file);
    if (name === "default" && defaultExport !== undefined) {
      const expression = unwrapExpression(defaultExport);
      return ts.isIdentifier(expression) ? this.#local(file, expression.text, hops) : expression;
    }
    for (const { from, names } of passedOn) {
      const other = from === undefined ? file : this.#open(file, from);
      if (other === undefined) continue;
      const named = names?.get(name);
      if (named !== undefined) {
        return other === file ? this.#local(file, named, hops + 1) : this.#exported(other, named, hops + 1);
      }
      if (names === undefined && other !== file) {
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
    const { variables, imports } = moduleNamesOf(file);
    const initializer = variables.get(name)?.initializer;
    if (initializer !== undefined) {
      const expression = unwrapExpression(initializer);
      return ts.isIdentifier(expression) ? this.#local(file, expression.text, hops + 1) : expression;
    }
    const imported = imports.get(name);
    const other = imported && this.#open(file, imported.from);
    return other && this.#exported(other, imported.name, hops + 1);
  }

  #open(from: SourceFile, specifier: string): SourceFile | undefined {
    const path = from.fileName;
    const key = `${dirname(path)} ${specifier}`;
    if (!this.#resolved.has(key)) this.#resolved.set(key, this.#find(path, specifier));
    const found = this.#resolved.get(key);
    return found === undefined ? undefined : this.#read(found);
  }

  /**
   * Returns the path of an imported module's source; undefined if only its type declarations exist, as for most
   * packages.
   */
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
    return file !== undefined && /(?<!\.d)\.[cm]?[jt]sx?$/.test(file) ? resolve(file) : undefined;
  }
}

/** Returns `expression` without `as`, `satisfies`, `!` and parentheses. */
export function unwrapExpression(expression: Expression): Expression {
  let current = expression;
  while (
    ts.isAsExpression(current) ||
    ts.isSatisfiesExpression(current) ||
    ts.isParenthesizedExpression(current) ||
    ts.isNonNullExpression(current)
  ) {
    current = current.expression;
  }
  return current;
}

const MAX_HOPS = 16;

/** Returns the text of the JSDoc comment before `node`, without tags other than `@deprecated`. */
export function jsDocOf(node: SourceNode | undefined): string | undefined {
  if (node === undefined) return undefined;
  const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  const docs = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc);
  const last = docs.at(-1);
  if (last === undefined) return undefined;
  const lines = [ts.getTextOfJSDocComment(last.comment) ?? ""];
  for (const tag of last.tags ?? []) {
    if (tag.tagName.text === "deprecated") {
      lines.push(`@deprecated ${ts.getTextOfJSDocComment(tag.comment) ?? ""}`.trimEnd());
    }
  }
  const text = lines.filter((line) => line !== "").join("\n\n");
  return text === "" ? undefined : text.replaceAll("\r\n", "\n");
}
