import { dirname, relative } from "node:path";
import type { SchemaRoot } from "../source/schema-root.js";
import { camelCase, isIdentifier, isReservedWord } from "../names.js";
import { quoted } from "./text.js";

/** Extension of generated files in imports; "none" to omit it. */
export type ImportExtension = "ts" | "js" | "none";

/** The imports of a generated file, collected while its parts are printed. */
export class Imports {
  readonly #outFile: string;
  readonly #extension: ImportExtension;
  /** Imported modules by specifier, in the order of their first use. */
  readonly #modules = new Map<string, Map<string, { readonly as: string; value: boolean }>>();
  readonly #isTaken: (name: string) => boolean;
  readonly #roots = new Map<string, string>();
  /** Names that only links in comments use, by import specifier; each with its name in the file. */
  readonly #linked = new Map<string, Map<string, string>>();

  /** @param isTaken returns true if the file uses a name for anything but an export of a schema module */
  constructor(outFile: string, extension: ImportExtension, isTaken: (name: string) => boolean) {
    this.#outFile = outFile;
    this.#extension = extension;
    this.#isTaken = isTaken;
  }

  specifierOf(file: string): string {
    const path = relative(dirname(this.#outFile), file).replaceAll("\\", "/");
    const dotted = path.startsWith(".") ? path : `./${path}`;
    if (this.#extension === "ts") return dotted;
    // Imports of .mts and .cts files need an extension.
    const bare = this.#extension === "none" ? dotted.replace(/\.[jt]sx?$/, "") : dotted;
    return bare.replace(/\.([cm]?)tsx?$/, ".$1js");
  }

  /** Adds an import of `name` from the module `from`. It imports only the type, unless `value` is true. */
  add(from: string, name: string, value: boolean, as: string = name): void {
    const names = this.#modules.get(from) ?? new Map<string, { as: string; value: boolean }>();
    this.#modules.set(from, names);
    const known = names.get(name);
    if (known === undefined) names.set(name, { as, value });
    else known.value ||= value;
  }

  /** Adds an import of an export of a schema module, and returns its name in the file. */
  schema(root: SchemaRoot, value: boolean): string {
    const as = this.#nameOf(root);
    this.add(this.specifierOf(root.file), root.name, value, as);
    return as;
  }

  /** Adds an import of an export of a schema module that only comments use, and returns its name in the file. */
  linked(root: SchemaRoot): string {
    const as = this.#nameOf(root);
    const from = this.specifierOf(root.file);
    const names = this.#linked.get(from) ?? new Map<string, string>();
    this.#linked.set(from, names.set(root.name, as));
    return as;
  }

  #nameOf(root: SchemaRoot): string {
    const key = `${root.file} ${root.name}`;
    let as = this.#roots.get(key);
    if (as === undefined) {
      const used = new Set(this.#roots.values());
      const name = isIdentifier(root.name) ? root.name : camelCase(root.name);
      as = isReservedWord(name) ? `${name}Schema` : name;
      for (let n = 1; this.#isTaken(as) || used.has(as); n++) as = `${name}Schema${n === 1 ? "" : n}`;
      this.#roots.set(key, as);
    }
    return as;
  }

  /** Returns the import declarations. Those for comments come last. */
  print(): string {
    const linked = [...this.#linked].map(([from, names]): [string, Imported, boolean] => {
      const used = this.#modules.get(from) ?? new Map();
      const all = new Map([...names].map(([name, as]) => [name, { as, value: false }] as const));
      return [from, new Map([...all, ...used]), used.size < new Set([...used.keys(), ...names.keys()]).size];
    });
    const others = [...this.#modules].filter(([from]) => !this.#linked.has(from));
    return [
      ...others.map(([from, names]) => declaration(from, names)),
      ...linked.map(([from, names, isIdle]) => {
        const text = declaration(from, names);
        return isIdle ? `${UNUSED}${text}${USED}` : text;
      }),
    ].join("");
  }
}

type Imported = ReadonlyMap<string, { readonly as: string; readonly value: boolean }>;

function declaration(from: string, names: Imported): string {
  const isType = [...names.values()].every(({ value }) => !value);
  const items = [...names].map(([name, { as, value }]) => {
    const text = renamed(name, as);
    return isType || value ? text : `type ${text}`;
  });
  return importText(isType ? "import type" : "import", items, from);
}

/**
 * Comment that disables a lint rule: compilers know imports that only links in comments use, but most linters do not.
 */
const UNUSED =
  "// Links in comments lead there.\n/* eslint-disable no-unused-vars, @typescript-eslint/no-unused-vars */\n";
const USED = "/* eslint-enable no-unused-vars, @typescript-eslint/no-unused-vars */\n";

function renamed(name: string, as: string): string {
  return as === name ? name : `${isIdentifier(name) ? name : quoted(name)} as ${as}`;
}

export function importText(keyword: string, names: readonly string[], from: string): string {
  return names.length === 0 ? "" : `${keyword} { ${names.join(", ")} } from ${quoted(from)};\n`;
}
