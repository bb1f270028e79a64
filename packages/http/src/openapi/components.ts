import { isSchema, plainSchema, type Surroundings } from "./json-schema.js";
import type { JsonSchema } from "./source.js";

/** Name of the schema that all errors have. */
export const ERROR = "Error";

const PREFIX = "#/components/schemas/";

/** The schemas of a document by name. Equal schemas are stored once. */
export class Components {
  readonly schemas: Record<string, unknown> = {};
  /** Names of schemas, by their JSON. */
  readonly #names = new Map<string, string>();

  /**
   * Adds a schema and its definitions, and returns a reference to it.
   *
   * @param name name of a schema without a title
   */
  add(schema: JsonSchema, name: string): JsonSchema {
    const { $defs, ...own } = schema;
    const source = JSON.stringify(schema);
    const known = this.#names.get(source);
    if (known !== undefined) return referenceTo(known);
    const { title } = own;
    const taken = this.#reserve(typeof title === "string" ? title : name);
    this.#names.set(source, taken);
    const definitions = Object.entries(isSchema($defs) ? $defs : {});
    const names = new Map(definitions.map(([key]) => [key, this.#reserve(`${taken}${pascal(key)}`)]));
    const around: Surroundings = {
      refer(reference) {
        if (reference.startsWith(PREFIX)) return reference;
        const key = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
        const target = key === undefined ? taken : names.get(key.replaceAll("~1", "/").replaceAll("~0", "~"));
        return referenceTo(target ?? taken).$ref;
      },
      place: (inner, made) => this.#place(inner, made),
    };
    const made = plainSchema(own, around);
    this.schemas[taken] = made;
    // An equal schema inside another one becomes a reference to this one.
    const text = JSON.stringify(made);
    if (!this.#names.has(text)) this.#names.set(text, taken);
    for (const [key, each] of definitions) this.schemas[names.get(key) ?? key] = plainSchema(each, around);
    return referenceTo(taken);
  }

  #place(title: string, made: JsonSchema): JsonSchema {
    const text = JSON.stringify(made);
    const known = this.#names.get(text);
    if (known !== undefined) return referenceTo(known);
    const name = this.#reserve(title);
    this.#names.set(text, name);
    this.schemas[name] = made;
    return referenceTo(name);
  }

  #reserve(title: string): string {
    const name = pascal(title) || "Schema";
    let free = name;
    for (let i = 2; Object.hasOwn(this.schemas, free); i++) free = `${name}${i}`;
    this.schemas[free] = {};
    return free;
  }
}

/** Returns a reference to the schema with this name. */
export function referenceTo(name: string): { readonly $ref: string } {
  return { $ref: PREFIX + name };
}

/** Converts a name to Pascal case: `shop.v1.Shop` to `ShopV1Shop`, `get_all` to `GetAll`. */
export function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}
