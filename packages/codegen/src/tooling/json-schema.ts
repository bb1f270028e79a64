import { toJSONSchema } from "zod/v4/core";
import { isConstantDefault } from "../codec/constant.js";
import { isBlob } from "../blobs.js";
import { isUint8Array } from "../types/support.js";
import { type AnySchema, canonical, defOf, isZodSchema, metaOf } from "../types/zod.js";

/** A JSON Schema (draft 2020-12) of one message. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The key that tells types apart that JSON has not: `date` (written as RFC 3339), `bigint` (an integer), `bytes` (base64),
 * `map` (pairs), `set` (a list) and `blob` (bytes that travel beside the message).
 */
const TYPE_KEY: string = "x-quicrpc-type";

/** The JSON Schema of what is sent for `schema`, as zod makes it; with forms for the types that JSON has not. */
export function jsonSchemaOf(schema: AnySchema, titleOf: TitleOf = () => undefined): JsonSchema {
  return schemaOf(schema, titleOf, new Set());
}

/** Returns the name of a schema in the source; undefined where it has none. */
type TitleOf = (schema: AnySchema) => string | undefined;

/** @param open the maps and sets around `schema` */
function schemaOf(schema: AnySchema, titleOf: TitleOf, open: ReadonlySet<AnySchema>): JsonSchema {
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
              prefixItems: [def.keyType, def.valueType].map((each) => inline(each, zodSchema, titleOf, open)),
              minItems: 2,
              maxItems: 2,
            },
            [TYPE_KEY]: "map",
          });
          break;
        case "set":
          Object.assign(target, {
            type: "array",
            items: inline(def.valueType, zodSchema, titleOf, open),
            uniqueItems: true,
            [TYPE_KEY]: "set",
          });
          break;
        default:
      }
    },
  }) as Record<string, unknown>;
  return made;
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

/** The schema of a part of `container`, or any where it refers to definitions, which stand elsewhere, or is recursive. */
function inline(schema: unknown, container: AnySchema, titleOf: TitleOf, open: ReadonlySet<AnySchema>): JsonSchema {
  const around = canonical(container);
  if (!isZodSchema(schema) || open.has(around)) return {};
  const made = schemaOf(schema, titleOf, new Set([...open, around]));
  return JSON.stringify(made).includes('"$ref"') ? {} : made;
}
