import { backtrackingOf, isObject } from "@quicrpc/core/internal";
import type protobuf from "protobufjs";
import { quoted } from "../print/text.js";

export type Options = Readonly<Record<string, unknown>>;

/** Rules of protovalidate for a field. */
export interface Rules {
  readonly isRequired: boolean;
  /** Rules of the value by the name of its type, such as `string`. */
  readonly own: Options;
}

/** Returns the protovalidate rules of a field or oneof. */
export function rulesOf(object: protobuf.ReflectionObject): Rules {
  const options = partsOf(object, "field", "oneof");
  const own = options.length > 0 && options.every(isObject) ? (merged(options) as Options) : {};
  return own["ignore"] === "IGNORE_ALWAYS"
    ? { isRequired: false, own: {} }
    : { isRequired: own["required"] === true, own };
}

/** Returns true if a message has protovalidate rules of its own. */
export function hasMessageRules(type: protobuf.Type): boolean {
  return partsOf(type, "message").length > 0;
}

/** Returns the parts of the protovalidate options with these names. */
function partsOf({ parsedOptions }: protobuf.ReflectionObject, ...names: readonly string[]): unknown[] {
  const all = (parsedOptions ?? []) as unknown as readonly Options[];
  return all.flatMap((each) =>
    names.flatMap((name) => each[`(buf.validate.${name})`] ?? each[`(.buf.validate.${name})`] ?? []),
  );
}

/** Combines parts of an option that are set one after the other: the parser returns them as a list. */
function merged(value: unknown): unknown {
  if (Array.isArray(value)) {
    const parts = value as unknown[];
    return parts.length > 0 && parts.every(isObject) ? merged(Object.assign({}, ...parts)) : parts;
  }
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, merged(each)])) : value;
}

export function partOf(rules: Options, name: string): Options {
  const part = rules[name];
  return isObject(part) ? part : {};
}

/** Formats of strings, and the schemas that check them. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "z.email()",
  uuid: "z.guid()",
  uri: "z.url()",
  hostname: "z.hostname()",
  ipv4: "z.ipv4()",
  ipv6: "z.ipv6()",
  ip: "z.union([z.ipv4(), z.ipv6()])",
};
const BOUNDS: Readonly<Record<string, true>> = { gt: true, gte: true, lt: true, lte: true };
const TEXTS: Readonly<Record<string, string>> = { prefix: "startsWith", suffix: "endsWith", contains: "includes" };
/** Rules of sizes: the operator, the method in zod, and the types that have the rule. */
const SIZES: Readonly<Record<string, readonly string[]>> = {
  min_len: [">=", "min", "string", "bytes"],
  max_len: ["<=", "max", "string", "bytes"],
  len: ["===", "length", "string", "bytes"],
  min_items: [">=", "min", "repeated"],
  max_items: ["<=", "max", "repeated"],
  min_pairs: [">=", "min", "map"],
  max_pairs: ["<=", "max", "map"],
};

/** Names of rules that do not restrict values, or that another part of the importer handles. */
const OTHER: ReadonlySet<string> = new Set("items keys values finite example strict".split(" "));

/**
 * Returns `value` as a literal for a type; undefined if it is not a value of that type. The parser does not check the
 * types of options, so each value of an option that becomes code has to be printed by this function.
 */
export function literal(kind: string, value: unknown): string | undefined {
  if (kind === "string") return typeof value === "string" ? quoted(value) : undefined;
  if (kind === "bool") return typeof value === "boolean" ? String(value) : undefined;
  if (typeof value !== "number" || !(kind === "enum" || kind in BITS)) return undefined;
  if (kind === "float") return Number.isFinite(Math.fround(value)) ? String(Math.fround(value)) : undefined;
  if (kind === "double") return Number.isFinite(value) ? String(value) : undefined;
  if (!Number.isSafeInteger(value)) return undefined;
  return BITS[kind] === 64 ? `${value}n` : String(value);
}

/** Sizes of numeric types. */
const BITS: Readonly<Record<string, number>> = {
  float: 32,
  double: 64,
  ...Object.fromEntries("int uint sint fixed sfixed".split(" ").flatMap((name) => [32, 64].map((n) => [name + n, n]))),
};

/**
 * Returns the schema `text` with checks for rules.
 *
 * @param kind name of the type in protovalidate, such as `string`
 * @param refused called with the name of each rule that has no check
 */
export function checked(text: string, kind: string, rules: Options, refused: (rule: string) => void): string {
  const entries = Object.entries(rules).filter(
    ([name, rule]) => !OTHER.has(name) && (rule !== false || name === "const"),
  );
  const [lower, upper] = [rules["gt"] ?? rules["gte"], rules["lt"] ?? rules["lte"]];
  // A range whose lower bound is not below its upper bound can contain the values outside of it.
  const isInverted = lower !== undefined && upper !== undefined && Number(lower) > Number(upper);
  const [first] = entries[0] ?? [];
  const format =
    kind === "string" && entries.length === 1 && rules[first ?? ""] === true ? FORMATS[first ?? ""] : undefined;
  if (format !== undefined && text === "z.string()") return format;
  const checks = entries.map(([name, rule]) => {
    const check = name in BOUNDS && isInverted ? undefined : checkOf(kind, name, rule, text);
    if (check === undefined) refused(`${kind}.${name}`);
    return check ?? "";
  });
  return text + checks.join("");
}

/** Returns the check for a rule; undefined if there is none. */
function checkOf(kind: string, name: string, rule: unknown, text: string): string | undefined {
  // Senders may pass numbers that are not yet rounded to 32 bits.
  const value = kind === "float" ? "Math.fround(value)" : "value";
  if (name === "const") return refined(literal(kind, rule), (each) => `${value} === ${each}`);
  if (name === "in" || name === "not_in") {
    return refined(literals(kind, rule), (each) => `${name === "in" ? "" : "!"}${each}.includes(${value})`);
  }
  if (name in BOUNDS && kind in BITS) {
    const bound = kind === "float" ? boundOf(name, rule) : literal(kind, rule);
    return bound && `.${name}(${bound})`;
  }
  if (name in SIZES) {
    const size = literal("int32", rule);
    if (size === undefined || size.startsWith("-")) return undefined;
    const [operator = "", method = "", ...kinds] = SIZES[name] ?? [];
    if (!kinds.includes(kind)) return undefined;
    if (kind === "bytes" || kind === "map")
      return refined(size, (each) => `${lengthOf(kind, text)} ${operator} ${each}`);
    return `.${method}(${size})`;
  }
  if (kind === "string" && name in TEXTS) {
    const part = literal(kind, rule);
    return part && `.${TEXTS[name]}(${part})`;
  }
  if (kind === "string" && name === "not_contains") {
    return refined(literal(kind, rule), (each) => `!value.includes(${each})`);
  }
  if (kind === "string" && name === "pattern" && isLinear(rule)) return `.regex(new RegExp(${quoted(rule)}, "u"))`;
  if (kind === "repeated" && name === "unique" && rule === true && !/^z\.array\((?!z\.)|Uint8Array/.test(text)) {
    return ".refine((value) => new Set(value).size === value.length)";
  }
  return undefined;
}

function refined(operand: string | undefined, condition: (operand: string) => string): string | undefined {
  return operand === undefined ? undefined : `.refine((value) => ${condition(operand)})`;
}

function literals(kind: string, rule: unknown): string | undefined {
  const all = [rule].flat().map((each) => literal(kind, each));
  return all.includes(undefined) ? undefined : `[${all.join(", ")}]`;
}

/** Returns a bound that treats the number in the rule and its 32-bit form alike. */
function boundOf(name: string, rule: unknown): string | undefined {
  const rounded = literal("float", rule);
  if (rounded === undefined) return undefined;
  const both = [Number(rule), Number(rounded)];
  return String(name === "gte" || name === "lt" ? Math.min(...both) : Math.max(...both));
}

/** Returns the expression for the number of bytes or entries of a value whose schema is `text`. */
function lengthOf(kind: string, text: string): string {
  if (kind === "bytes") return "value.length";
  return text.startsWith("z.map(") ? "value.size" : "Object.keys(value).length";
}

/** Returns true for a pattern that JavaScript matches in linear time, as RE2 does. */
function isLinear(pattern: unknown): pattern is string {
  if (typeof pattern !== "string") return false;
  try {
    return backtrackingOf(new RegExp(pattern, "u")).longest === Infinity;
  } catch {
    return false;
  }
}

/** Returns a check that refuses the zero value of the type of the schema `text`. */
export function nonZero(kind: string, text: string): string {
  // Formats refuse the empty string.
  if (kind === "string") return text.startsWith("z.string()") ? ".min(1)" : "";
  if (kind === "repeated") return ".min(1)";
  if (kind === "bytes" || kind === "map") return `.refine((value) => ${lengthOf(kind, text)} > 0)`;
  return kind === "bool" ? ".refine((value) => value)" : ".refine((value) => Number(value) !== 0)";
}
