import { dirname, relative } from "node:path";
import type { SchemaRoot } from "../source/schema-root.js";
import { MAX_WIDTH } from "./layout.js";
import { camelCase, isIdentifier, isReservedWord } from "../names.js";
import { quoted } from "./text.js";
import { list } from "./writer.js";

/** How generated files name the modules they import. */
export type ImportExtension = "ts" | "js" | "none";

/** The imports of one generated file, as its parts ask for them while they are printed. */
export class Imports {
  readonly #outFile: string;
  readonly #extension: ImportExtension;
  /** By specifier, in the order they were asked for. */
  readonly #modules = new Map<string, Map<string, { readonly as: string; value: boolean }>>();
  readonly #taken: ReadonlySet<string>;
  readonly #roots = new Map<string, string>();

  /** `taken` are names that the file declares itself. */
  constructor(outFile: string, extension: ImportExtension, taken: ReadonlySet<string>) {
    this.#outFile = outFile;
    this.#extension = extension;
    this.#taken = taken;
  }

  /** A module as seen from the generated file. */
  specifierOf(file: string): string {
    const path = relative(dirname(this.#outFile), file).replaceAll("\\", "/");
    const dotted = path.startsWith(".") ? path : `./${path}`;
    if (this.#extension === "ts") return dotted;
    return this.#extension === "none"
      ? dotted.replace(/\.[cm]?[jt]sx?$/, "")
      : dotted.replace(/\.([cm]?)tsx?$/, ".$1js");
  }

  /** Asks for `name` of the module `from`, as a type only unless `value`. */
  add(from: string, name: string, value: boolean, as: string = name): void {
    const names = this.#modules.get(from) ?? new Map<string, { as: string; value: boolean }>();
    this.#modules.set(from, names);
    const known = names.get(name);
    if (known === undefined) names.set(name, { as, value });
    else known.value ||= value;
  }

  /** Asks for an export of a schema module, and gives what the file calls it. */
  schema(root: SchemaRoot, value: boolean): string {
    const key = `${root.file} ${root.name}`;
    let as = this.#roots.get(key);
    if (as === undefined) {
      const used = new Set(this.#roots.values());
      const name = isIdentifier(root.name) ? root.name : camelCase(root.name);
      as = isReservedWord(name) ? `${name}Schema` : name;
      for (let n = 1; this.#taken.has(as) || used.has(as); n++) as = `${name}Schema${n === 1 ? "" : n}`;
      this.#roots.set(key, as);
    }
    this.add(this.specifierOf(root.file), root.name, value, as);
    return as;
  }

  /** The import declarations. */
  print(): string {
    return [...this.#modules]
      .map(([from, names]) => {
        const isType = [...names.values()].every(({ value }) => !value);
        const items = [...names].map(([name, { as, value }]) => {
          const text = as === name ? name : `${isIdentifier(name) ? name : quoted(name)} as ${as}`;
          return isType || value ? text : `type ${text}`;
        });
        return importText(isType ? "import type" : "import", items, from);
      })
      .join("");
  }
}

/** An import or export of `names`; nothing where there are none. */
export function importText(keyword: string, names: readonly string[], from: string): string {
  if (names.length === 0) return "";
  const text = `${keyword} { ${names.join(", ")} } from ${quoted(from)};\n`;
  return text.length <= MAX_WIDTH + 1 ? text : `${list(`${keyword} {`, names, `} from ${quoted(from)};`)}\n`;
}
