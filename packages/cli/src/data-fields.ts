import { readFileSync } from "node:fs";
import { RpcError } from "@quicrpc/core";
import type { JsonSchema } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";

/** A field of a message as typed: `address.city=Oslo`. */
export interface DataField {
  readonly path: readonly string[];
  readonly text: string;
}

/** Maximum depth of a field. Pass deeper ones as JSON. */
const MAX_DEPTH = 100;

/** Parses an argument `name=value`. */
export function parseDataField(argument: string, before: readonly DataField[] = []): readonly DataField[] {
  const at = argument.indexOf("=");
  const path = argument.slice(0, Math.max(at, 0)).split(".");
  if (path.some((name) => name === "")) throw new InvalidArgumentError("It takes name=value, or outer.inner=value.");
  return [...before, { path, text: argument.slice(at + 1) }];
}

/**
 * Adds fields to `json`, an object or undefined. The schema determines how a value is read: as text for types written
 * as text, such as dates; as the content of `@file`, in base64 for bytes; otherwise as JSON. A list field gets one
 * element for each occurrence. Throws `RpcError`.
 */
export function withDataFields(json: unknown, fields: readonly DataField[], schema: JsonSchema | undefined): unknown {
  const message = json === undefined ? {} : structuredClone(json);
  const seen = new Set<string>();
  for (const { path, text } of fields) {
    const name = path.join(".");
    let [holder, part]: [unknown, JsonSchema | undefined] = [message, schema];
    for (const key of path.slice(0, -1)) {
      if (!isObject(holder)) break;
      part = partOf(part, key, schema);
      if (!Object.hasOwn(holder, key)) put(holder, key, {});
      holder = holder[key];
    }
    const last = path.at(-1) as string;
    if (!isObject(holder))
      throw new RpcError("invalid_argument", `--data-field ${name} is inside a value that is not an object`);
    part = partOf(part, last, schema);
    const items = itemOf(part, schema);
    if (items !== undefined && !isJson(text, Array.isArray)) {
      const list = seen.has(name) ? (holder[last] as unknown[]) : [];
      put(holder, last, [...list, valueIn(text, items, schema)]);
    } else if (seen.has(name)) {
      throw new RpcError("invalid_argument", `--data-field ${name} is given twice, but is not a list`);
    } else put(holder, last, valueIn(text, part, schema));
    seen.add(name);
  }
  return message;
}

function valueIn(text: string, schema: JsonSchema | undefined, root: JsonSchema | undefined): unknown {
  const choices = schema === undefined ? [] : choicesOf(schema, root);
  const marks = choices.map((choice) => choice["x-quicrpc-type"]);
  // Files of blobs are read while they are sent.
  if (text.startsWith("@") && !marks.includes("blob")) return contentsOf(text.slice(1), marks.includes("bytes"));
  const takesText = choices.some(isText);
  const others = choices.filter((choice) => !isText(choice));
  if (takesText && !isJson(text, (value) => others.some((choice) => isOf(value, choice)))) return text;
  return isJson(text, () => true) ? (JSON.parse(text) as unknown) : text;
}

function contentsOf(file: string, asBase64: boolean): string {
  try {
    return readFileSync(file, asBase64 ? "base64" : "utf8");
  } catch (error) {
    throw new RpcError("invalid_argument", `cannot read the file of --data-field: ${(error as Error).message}`);
  }
}

/** Returns true if a schema's values are typed as plain text, including types that JSON writes as text. */
function isText(schema: JsonSchema): boolean {
  const { "x-quicrpc-type": mark, type } = schema;
  if (typeof mark === "string") return ["date", "bigint", "bytes", "blob"].includes(mark);
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  return type === "string" || (Array.isArray(values) && values.some((value) => typeof value === "string"));
}

function isOf(value: unknown, schema: JsonSchema): boolean {
  const { type } = schema;
  if ("const" in schema) return value === schema["const"];
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return typeof value === type;
}

function isJson(text: string, fits: (value: unknown) => boolean): boolean {
  try {
    return fits(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Returns the schema of a member, or undefined if it is not known. */
function partOf(schema: JsonSchema | undefined, key: string, root: JsonSchema | undefined): JsonSchema | undefined {
  if (schema === undefined) return undefined;
  for (const { properties, additionalProperties } of choicesOf(schema, root)) {
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key] as JsonSchema;
    if (isObject(additionalProperties)) return additionalProperties;
  }
  return undefined;
}

/** Returns the schema of a list's items, or undefined if it is not a list or has fixed items. */
function itemOf(schema: JsonSchema | undefined, root: JsonSchema | undefined): JsonSchema | undefined {
  const list = schema && choicesOf(schema, root).find(({ type, items }) => type === "array" && isObject(items));
  return list?.["x-quicrpc-type"] === "map" ? undefined : (list?.["items"] as JsonSchema | undefined);
}

/** Lists the schemas that a value may have: `schema` itself, or the targets of its references and choices. */
function choicesOf(schema: JsonSchema, root: JsonSchema | undefined, depth = 0): readonly JsonSchema[] {
  if (depth > MAX_DEPTH) return [];
  const { $ref } = schema;
  if (typeof $ref === "string") {
    const target = referred($ref, root);
    return target === undefined ? [] : choicesOf(target, root, depth + 1);
  }
  const parts = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (!Array.isArray(parts)) return [schema];
  return parts.filter(isObject).flatMap((part) => choicesOf(part, root, depth + 1));
}

function referred(reference: string, root: JsonSchema | undefined): JsonSchema | undefined {
  if (reference === "#") return root;
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
  const definitions = root?.["$defs"];
  const found = name !== undefined && isObject(definitions) && Object.hasOwn(definitions, name) && definitions[name];
  return isObject(found) ? found : undefined;
}

/** Sets a member. Names come from the user: `__proto__` is an ordinary name. */
function put(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
