import { $ZodTuple, toJSONSchema } from "zod/v4/core";
import { isConstantDefault } from "../schema/constant.js";
import { isBlob } from "../blobs.js";
import { checksOf } from "../shape/checks.js";
import { isUint8Array } from "../types/support.js";
import { type AnySchema, childrenOf, defOf, isZodSchema, metaOf } from "../types/zod.js";

/** A JSON Schema (draft 2020-12) of one message. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The key that tells types apart that JSON has not: `date` (written as RFC 3339), `bigint` (an integer; a literal in text), `bytes`
 * (base64), `map` (pairs), `set` (a list) and `blob` (bytes that travel beside the message).
 */
const TYPE_KEY: string = "x-quicrpc-type";
/** The key that stands for a part of a map or set, by its number, while definitions are put in place. */
const PART_KEY: string = "x-quicrpc-part";

/** The JSON Schema of what is sent for `schema`, as zod makes it; with forms for the types that JSON has not. */
export function jsonSchemaOf(schema: AnySchema, titleOf: TitleOf = () => undefined): JsonSchema {
  const parts = [...partsOf(schema)];
  const made = convert(schema, parts, titleOf);
  if (parts.length === 0) return made;
  const apart = parts.map((part) => convert(part, parts, titleOf));
  // Each is a document of its own: where one has definitions or refers to itself, all are made as parts of one.
  const isClosed = !JSON.stringify(apart).includes('"$ref"') && !isRecursive(apart);
  if (isClosed) return new Parts(apart, undefined).fill(made);
  const together = new $ZodTuple({ type: "tuple", items: [schema, ...parts], rest: null });
  const { prefixItems, $defs } = convert(together, parts, titleOf);
  const [root = {}, ...others] = prefixItems as JsonSchema[];
  const isRoot = (part: number): boolean => parts[part] === schema;
  return new Parts(others, isRoot).document(root, ($defs ?? {}) as Readonly<Record<string, JsonSchema>>);
}

/** The schemas of keys, values and elements in the maps and sets of `schema`, at any depth. */
function partsOf(schema: AnySchema): Set<AnySchema> {
  const parts = new Set<AnySchema>();
  const seen = new Set<AnySchema>();
  const look = (each: AnySchema): void => {
    if (seen.has(each)) return;
    seen.add(each);
    const isApart = ["map", "set"].includes(defOf(each).type);
    for (const child of childrenOf(each)) {
      if (!isZodSchema(child.schema)) continue;
      if (isApart) parts.add(child.schema);
      look(child.schema);
    }
  };
  look(schema);
  return parts;
}

/** Whether a part is, at some depth, inside itself. */
function isRecursive(parts: readonly JsonSchema[]): boolean {
  const inside = parts.map((part) =>
    Array.from(JSON.stringify(part).matchAll(new RegExp(`"${PART_KEY}":(\\d+)`, "g")), ([, number]) => Number(number)),
  );
  const reaches = (part: number, open: readonly number[]): boolean =>
    open.includes(part) || (inside[part] ?? []).some((each) => reaches(each, [...open, part]));
  return parts.some((_, part) => reaches(part, []));
}

/** Puts the parts of maps and sets where their numbers stand. */
class Parts {
  readonly #parts: readonly JsonSchema[];
  readonly #isRoot: (part: number) => boolean;
  readonly #open = new Set<number>();
  /** Those that are inside themselves, which are definitions. */
  readonly #defined = new Set<number>();

  constructor(parts: readonly JsonSchema[], isRoot: (part: number) => boolean = () => false) {
    this.#parts = parts;
    this.#isRoot = isRoot;
  }

  /** A schema with its definitions. Where the top is a reference to one of them, that is the root. */
  document(top: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>): JsonSchema {
    const name = /^#\/\$defs\/(.+)$/.exec(String(top["$ref"]))?.[1];
    const root = this.fill((name === undefined ? undefined : definitions[name]) ?? top);
    const $defs = Object.fromEntries(Object.entries(definitions).map(([key, each]) => [key, this.fill(each)]));
    // What is defined may refer to others.
    for (const part of this.#defined) {
      this.#open.add(part);
      $defs[nameOf(part)] = this.fill(this.#parts[part] ?? {});
      this.#open.delete(part);
    }
    if (name !== undefined) delete $defs[name];
    const text = JSON.stringify({ ...root, $defs });
    const whole = name === undefined ? text : text.replaceAll(`"$ref":"#/$defs/${name}"`, '"$ref":"#"');
    const { $defs: all, ...rest } = JSON.parse(whole) as { readonly $defs: Readonly<Record<string, JsonSchema>> };
    const used = Object.entries(all).filter(([key]) => whole.includes(`"#/$defs/${key}"`));
    return used.length === 0 ? rest : { ...rest, $defs: Object.fromEntries(used) };
  }

  fill(schema: JsonSchema): JsonSchema {
    return this.#fill(schema) as JsonSchema;
  }

  #fill(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.#fill(each));
    const part = (value as JsonSchema)[PART_KEY];
    if (typeof part === "number") return this.#part(part);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#fill(each)]));
  }

  #part(part: number): unknown {
    if (this.#isRoot(part)) return { $ref: "#" };
    if (this.#open.has(part)) {
      this.#defined.add(part);
      return { $ref: `#/$defs/${nameOf(part)}` };
    }
    this.#open.add(part);
    const filled = this.#fill(this.#parts[part] ?? {});
    this.#open.delete(part);
    return filled;
  }
}

function nameOf(part: number): string {
  return `__part${part}`;
}

/** Returns the name of a schema in the source; undefined where it has none. */
type TitleOf = (schema: AnySchema) => string | undefined;

/** The JSON Schema of `schema`, with the numbers of `parts` in their places. */
function convert(schema: AnySchema, parts: readonly AnySchema[], titleOf: TitleOf): JsonSchema {
  const partOf = (part: unknown): JsonSchema => ({ [PART_KEY]: parts.indexOf(part as AnySchema) });
  const { $schema: _, ...made } = toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const target = jsonSchema as Record<string, unknown>;
      const def = defOf(zodSchema);
      if (def.type === "default" || def.type === "prefault") {
        // What a function gives is another value each time; zod leaves out what has a bigint.
        if (isConstantDefault(def)) target["default"] = def.defaultValue;
        else delete target["default"];
      } else if (def.type === "catch") delete target["default"];
      for (const key of ["default", ...Object.keys(metaOf(zodSchema))]) {
        if (key in target) target[key] = asJson(target[key]);
      }
      const title = def.type === "object" ? titleOf(zodSchema) : undefined;
      if (title !== undefined) target["title"] ??= title;
      // Bounds of every safe integer say nothing.
      if (target["minimum"] === Number.MIN_SAFE_INTEGER) delete target["minimum"];
      if (target["maximum"] === Number.MAX_SAFE_INTEGER) delete target["maximum"];
      if (isBlob(zodSchema)) {
        // What is on the wire in its place is nobody's to write.
        for (const key of Object.keys(target)) if (key !== "description") delete target[key];
        target[TYPE_KEY] = "blob";
        return;
      }
      switch (def.type) {
        case "date":
          Object.assign(target, { type: "string", format: "date-time", [TYPE_KEY]: "date" });
          break;
        case "bigint":
          Object.assign(target, { type: "integer", [TYPE_KEY]: "bigint" });
          break;
        case "literal":
          if (def.values.some((value) => typeof value === "bigint")) {
            // zod writes them as numbers.
            for (const key of ["type", "const", "enum"]) delete target[key];
            Object.assign(target, literalWithBigints(def.values));
          }
          break;
        case "custom":
          if (isUint8Array(zodSchema)) {
            Object.assign(target, { type: "string", contentEncoding: "base64", [TYPE_KEY]: "bytes" });
          }
          break;
        case "map":
          Object.assign(target, {
            type: "array",
            items: {
              type: "array",
              prefixItems: [def.keyType, def.valueType].map(partOf),
              minItems: 2,
              maxItems: 2,
            },
            ...sizesOf(zodSchema),
            [TYPE_KEY]: "map",
          });
          break;
        case "set":
          Object.assign(target, {
            type: "array",
            items: partOf(def.valueType),
            uniqueItems: true,
            ...sizesOf(zodSchema),
            [TYPE_KEY]: "set",
          });
          break;
        default:
      }
    },
  }) as Record<string, unknown>;
  return made;
}

/** Which of some values it is, the bigints apart from others: in decimal digits. */
function literalWithBigints(values: readonly unknown[]): JsonSchema {
  const bigints = values.filter((value) => typeof value === "bigint").map(String);
  const others = values.filter((value) => typeof value !== "bigint" && value !== undefined);
  const oneOf = (some: readonly unknown[]): JsonSchema => (some.length === 1 ? { const: some[0] } : { enum: some });
  const marked = { ...oneOf(bigints), [TYPE_KEY]: "bigint" };
  return others.length === 0 ? marked : { anyOf: [marked, oneOf(others)] };
}

/** How many elements a set, or entries a map, has. */
function sizesOf(schema: AnySchema): JsonSchema {
  const { min, max } = checksOf(schema) ?? {};
  return { ...(min !== undefined && { minItems: min }), ...(max !== undefined && { maxItems: max }) };
}

/** Values that an author gives, with those that JSON lacks as people write them there. */
function asJson(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [String(key), asJson(each)]));
  if (Array.isArray(value) || value instanceof Set) return Array.from(value as Iterable<unknown>, asJson);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asJson(each)]));
}
