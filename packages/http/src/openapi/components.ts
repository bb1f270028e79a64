import { isSchema, plainSchema, type Surroundings } from "./json-schema.js";
import type { JsonSchema } from "./source.js";

/** Name of the component schema that describes every error. */
export const ERROR = "Error";

const PREFIX = "#/components/schemas/";
/** Matches references to a definition, or to the whole schema, in the JSON text of a schema. */
const REFERENCES = /"\$ref":"#(?:\/\$defs\/([^"]+))?"/g;

/** The component schemas of an OpenAPI document, by name. Equal schemas are stored once. */
export class Components {
  readonly schemas: Record<string, unknown> = {};
  /** Names of component schemas, by their JSON text or by the identity of a definition. */
  readonly #names = new Map<string, string>();
  /** A number for each distinct JSON text of a definition. */
  readonly #numbers = new Map<string, number>();

  /**
   * Adds a schema and its definitions to the document, and returns a reference to it.
   *
   * @param name name of the component if the schema has no title
   */
  add(schema: JsonSchema, name: string): JsonSchema {
    const { $defs, ...own } = schema;
    const source = JSON.stringify(schema);
    const known = this.#names.get(source);
    if (known !== undefined) return referenceTo(known);
    const { title } = own;
    const taken = this.#reserve(typeof title === "string" ? title : name);
    this.#names.set(source, taken);
    const names = new Map<string, string>();
    const identityOf = this.#identities(schema);
    const definitions = Object.entries(isSchema($defs) ? $defs : {}).filter(([key]) => {
      const identity = identityOf(key);
      const shared = this.#names.get(identity);
      const definition = shared ?? this.#reserve(`${taken}${pascal(key)}`);
      names.set(key, definition);
      this.#names.set(identity, definition);
      return shared === undefined;
    });
    const around: Surroundings = {
      refer(reference) {
        if (reference.startsWith(PREFIX)) return reference;
        const key = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
        return referenceTo((key === undefined ? undefined : names.get(unescaped(key))) ?? taken).$ref;
      },
      place: (inner, made) => this.#place(inner, made),
    };
    const made = plainSchema(own, around);
    this.schemas[taken] = made;
    // If an equal schema occurs inside another one, it becomes a reference to this component.
    const text = JSON.stringify(made);
    if (!this.#names.has(text)) this.#names.set(text, taken);
    for (const [key, each] of definitions) this.schemas[names.get(key) ?? key] = plainSchema(each, around);
    return referenceTo(taken);
  }

  /**
   * Returns a function that returns a text for the definition `key` of `schema`. Two definitions have the same text if
   * they and all definitions that they refer to are equal.
   */
  #identities(schema: JsonSchema): (key: string) => string {
    const { $defs } = schema;
    const parts = new Map(
      // A reference to the whole schema has an empty key.
      Object.entries({ ...(isSchema($defs) ? $defs : {}), "": schema }).map(([key, part]) => {
        const text = JSON.stringify(part);
        const number = this.#numbers.get(text) ?? this.#numbers.size;
        this.#numbers.set(text, number);
        return [key, { number, inner: Array.from(text.matchAll(REFERENCES), ([, name = ""]) => unescaped(name)) }];
      }),
    );
    return (key) => {
      const found = new Set([key]);
      for (const each of found) for (const name of parts.get(each)?.inner ?? []) found.add(name);
      return Array.from(found, (each) => `${each} ${parts.get(each)?.number}`).join();
    };
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

function unescaped(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

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
