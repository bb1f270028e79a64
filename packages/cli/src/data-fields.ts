import { readFileSync } from "node:fs";
import { RpcError } from "@quicrpc/core";
import { branchesOf, isObject, isOfType, type JsonSchema, markOf, memberOf } from "@quicrpc/services/json-schema";
import { InvalidArgumentError } from "commander";
import { parseJson } from "./parse-json.js";

/** A field of a message on the command line, such as `address.city=Oslo`. */
export interface DataField {
  readonly path: readonly string[];
  readonly text: string;
}

export function parseDataField(argument: string, before: readonly DataField[] = []): readonly DataField[] {
  const at = argument.indexOf("=");
  const path = argument.slice(0, Math.max(at, 0)).split(".");
  if (path.some((name) => name === "")) throw new InvalidArgumentError("It takes name=value, or outer.inner=value.");
  return [...before, { path, text: argument.slice(at + 1) }];
}

/**
 * Adds fields to `json`, which is an object or undefined. The schema determines how a value is read: as text for types
 * that are written as text, such as dates; as the content of `@file` in base64 for bytes; otherwise as JSON. A field
 * that is a list receives one element for each occurrence. Throws `RpcError` for a field that does not fit the schema.
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
      if (!Object.hasOwn(holder, key)) setMember(holder, key, {});
      holder = holder[key];
    }
    const last = path.at(-1) as string;
    if (!isObject(holder))
      throw new RpcError("invalid_argument", `--data-field ${name} is inside a value that is not an object`);
    part = partOf(part, last, schema);
    const items = listItemOf(part, schema);
    if (items !== undefined && !isJson(text, Array.isArray)) {
      const list = seen.has(name) ? (holder[last] as unknown[]) : [];
      setMember(holder, last, [...list, valueIn(text, items, schema)]);
    } else if (seen.has(name)) {
      throw new RpcError("invalid_argument", `--data-field ${name} is given twice, but is not a list`);
    } else setMember(holder, last, valueIn(text, part, schema));
    seen.add(name);
  }
  return message;
}

function valueIn(text: string, schema: JsonSchema | undefined, root: JsonSchema | undefined): unknown {
  const choices = branchesIn(schema, root);
  const marks = choices.map(markOf);
  const isBase64 = choices.some((choice) => markOf(choice) === "bytes" || choice["contentEncoding"] === "base64");
  // Files of blobs are read while they are sent.
  if (text.startsWith("@") && !marks.includes("blob")) return contentsOf(text.slice(1), isBase64);
  const takesText = choices.some(isText);
  const nonTextChoices = choices.filter((choice) => !isText(choice));
  if (takesText && !isJson(text, (value) => nonTextChoices.some((choice) => isOf(value, choice)))) return text;
  return isJson(text, () => true) ? parseJson(text) : text;
}

function contentsOf(file: string, asBase64: boolean): string {
  try {
    return readFileSync(file, asBase64 ? "base64" : "utf8");
  } catch (error) {
    throw new RpcError("invalid_argument", `cannot read the file of --data-field: ${(error as Error).message}`);
  }
}

/** Returns true if values of a schema are typed as plain text: strings, and types that JSON writes as strings. */
function isText(schema: JsonSchema): boolean {
  const { type } = schema;
  const mark = markOf(schema);
  if (mark !== undefined) return ["date", "bigint", "bytes", "blob"].includes(mark);
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  return type === "string" || (Array.isArray(values) && values.some((value) => typeof value === "string"));
}

function isOf(value: unknown, schema: JsonSchema): boolean {
  return "const" in schema ? value === schema["const"] : "type" in schema && isOfType(value, schema["type"]);
}

function isJson(text: string, isValid: (value: unknown) => boolean): boolean {
  try {
    return isValid(parseJson(text));
  } catch {
    return false;
  }
}

/** Returns the schema of an object's member, or undefined if it is not known. */
function partOf(schema: JsonSchema | undefined, key: string, root: JsonSchema | undefined): JsonSchema | undefined {
  return branchesIn(schema, root)
    .map((branch) => memberOf(branch, key))
    .find(isObject);
}

/** Returns the schema of a list's items. Returns undefined if the schema is not a list, or is a tuple. */
function listItemOf(schema: JsonSchema | undefined, root: JsonSchema | undefined): JsonSchema | undefined {
  const list = branchesIn(schema, root).find(({ type, items }) => type === "array" && isObject(items));
  return list === undefined || markOf(list) === "map" ? undefined : (list["items"] as JsonSchema);
}

function branchesIn(schema: JsonSchema | undefined, root: JsonSchema | undefined): readonly JsonSchema[] {
  return schema === undefined ? [] : branchesOf(schema, root ?? {});
}

/** Sets a member of an object. The user chooses the name, so `__proto__` is treated as an ordinary name. */
function setMember(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}
