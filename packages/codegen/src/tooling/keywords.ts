import { boundsOf } from "../schema/bounds.js";
import type { CheckNode } from "../schema/node.js";

/** A JSON Schema (draft 2020-12) of a message. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Returns the definition that a JSON Schema refers to; undefined if it is not a reference to a known definition. */
export type Definition = (schema: JsonSchema) => JsonSchema | undefined;

/**
 * JSON Schema keyword that marks types which JSON lacks: `date` (RFC 3339), `bigint` (an integer; a literal as text),
 * `bytes` (base64), `map` (a list of pairs), `set` (a list) and `blob` (bytes next to the message).
 */
export const TYPE_KEY: string = "x-quicrpc-type";

/** Names of JSON Schema formats, by zod's names. */
export const FORMATS: Readonly<Record<string, string>> = {
  guid: "uuid",
  url: "uri",
  datetime: "date-time",
  json_string: "json-string",
};
/** zod formats without a JSON Schema format. They are described by a pattern, or not at all. */
const WITHOUT_NAME: ReadonlySet<string> = new Set(["regex", "time", "lowercase", "uppercase"]);

export function stringKeywords(checks: readonly CheckNode[]): JsonSchema {
  const { minItems: minLength, maxItems: maxLength } = sizeKeywords(checks);
  const formats = checks.filter((check) => check.kind === "pattern" || check.kind === "format");
  const last = formats.at(-1);
  const isLax = formats.some(({ options = {} }) => options["local"] !== undefined || options["precision"] === "-1");
  const format = last === undefined || isLax || WITHOUT_NAME.has(last.format) ? undefined : last.format;
  const encoding = formats.find((check) => check.format === "base64" || check.format === "base64url")?.format;
  const patterns = [...new Set(checks.flatMap(patternOf))];
  return {
    ...(minLength !== undefined && { minLength }),
    ...(maxLength !== undefined && { maxLength }),
    ...(format !== undefined && { format: FORMATS[format] ?? format }),
    ...(encoding !== undefined && { contentEncoding: encoding }),
    ...(patterns.length === 1 && { pattern: patterns[0] }),
    ...(patterns.length > 1 && { allOf: patterns.map((pattern) => ({ pattern })) }),
  };
}

/**
 * Returns the regular expression of a check, if every accepted text matches it. Formats that zod checks by a function
 * may accept texts that do not match.
 */
function patternOf(check: CheckNode): string[] {
  if (!("regex" in check) || check.regex === undefined) return [];
  if (check.kind === "format" && check.format !== "regex") return [];
  // Regular expressions in JSON Schema have no flags, and are interpreted as with the flag `u`.
  return /[imsvy]/.test(check.regex.flags) || !isUnicodePattern(check.regex.source) ? [] : [check.regex.source];
}

function isUnicodePattern(source: string): boolean {
  try {
    return new RegExp(source, "u").source !== "";
  } catch {
    return false;
  }
}

export function numberKeywords(checks: readonly CheckNode[]): JsonSchema {
  const isInteger = checks.some((check) => check.kind === "integer");
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = boundsOf(checks);
  const [least, most] = [Number(minimum ?? -Infinity), Number(maximum ?? Infinity)];
  const [above, below] = [Number(exclusiveMinimum ?? -Infinity), Number(exclusiveMaximum ?? Infinity)];
  const steps = checks.flatMap((check) => (check.kind === "multipleOf" ? [Math.abs(Number(check.step))] : []));
  const [step, ...others] = [...new Set(steps)].filter((each) => Number.isFinite(each) && each !== 0);
  return {
    type: isInteger ? "integer" : "number",
    ...(above >= least ? finite("exclusiveMinimum", above) : finite("minimum", least)),
    ...(below <= most ? finite("exclusiveMaximum", below) : finite("maximum", most)),
    ...(step !== undefined && { multipleOf: step }),
    ...(others.length > 0 && { allOf: others.map((multipleOf) => ({ multipleOf })) }),
  };
}

/** Returns the JSON Schema keyword for a bound; an empty object if every safe integer meets the bound. */
function finite(keyword: string, bound: number): JsonSchema {
  return Number.isFinite(bound) && Math.abs(bound) !== Number.MAX_SAFE_INTEGER ? { [keyword]: bound } : {};
}

export function sizeKeywords(checks: readonly CheckNode[]): { readonly minItems?: number; readonly maxItems?: number } {
  const { minimum, maximum } = boundsOf(checks);
  return {
    ...(minimum !== undefined && { minItems: Number(minimum) }),
    ...(maximum !== undefined && { maxItems: Number(maximum) }),
  };
}

/** Returns the JSON Schema keywords for one of `values`. Bigints become decimal digits, because JSON lacks them. */
export function literalKeywords(values: readonly unknown[]): JsonSchema {
  if (values.length === 0) return { not: {} };
  const bigints = values.filter((value) => typeof value === "bigint").map(String);
  const others = values.filter(
    (value) => value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value),
  );
  const oneOf = (some: readonly unknown[]): JsonSchema => (some.length === 1 ? { const: some[0] } : { enum: some });
  if (bigints.length > 0) {
    const marked = { ...oneOf(bigints), [TYPE_KEY]: "bigint" };
    return others.length === 0 ? marked : { anyOf: [marked, oneOf(others)] };
  }
  if (others.length === 0) return {};
  const types = new Set(others.map((value) => (value === null ? "null" : typeof value)));
  return { ...(types.size === 1 && { type: [...types][0] }), ...oneOf(others) };
}

const NUMBER = "^-?\\d+(?:\\.\\d+)?$";
const INTEGER = "^-?\\d+$";

/**
 * Returns the JSON Schema for an object's keys, given that of the keys' values. Keys are strings, so a number becomes
 * its digits.
 */
export function keyNames(names: JsonSchema, definition: Definition): JsonSchema {
  const target = definition(names);
  if (target !== undefined) {
    const written = keyNames(target, () => undefined);
    return written === target ? names : written;
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const options = names[keyword];
    if (Array.isArray(options))
      return { ...names, [keyword]: options.map((each: JsonSchema) => keyNames(each, definition)) };
  }
  const types: readonly unknown[] = Array.isArray(names["type"]) ? names["type"] : [names["type"]];
  const isNumeric = !types.includes("string") && types.some((type) => type === "number" || type === "integer");
  const values = "const" in names ? [names["const"]] : (names["enum"] as readonly unknown[] | undefined);
  if (!isNumeric && values?.some((value) => typeof value === "number") !== true) return names;
  const { minimum: _, maximum: __, exclusiveMinimum: ___, exclusiveMaximum: ____, multipleOf: _____, ...rest } = names;
  return {
    ...rest,
    ...(values !== undefined && ("const" in names ? { const: String(values[0]) } : { enum: values.map(String) })),
    ...(isNumeric && { type: "string" }),
    ...(isNumeric && values === undefined && { pattern: types.includes("number") ? NUMBER : INTEGER }),
  };
}
