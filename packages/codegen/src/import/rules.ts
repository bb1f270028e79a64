import type protobuf from "protobufjs";
import { quoted } from "../print/text.js";

type Options = Readonly<Record<string, unknown>>;

/** Rules of protovalidate for a field. */
export interface Rules {
  readonly isRequired: boolean;
  /** Rules of the value by the name of its type, such as `string`. */
  readonly own: Options;
}

/** Returns the protovalidate rules of a field or oneof. */
export function rulesOf({ parsedOptions }: protobuf.ReflectionObject): Rules {
  const all = (parsedOptions ?? []) as unknown as readonly Options[];
  const option = all.find((each) => "(buf.validate.field)" in each || "(buf.validate.oneof)" in each) ?? {};
  const own = merged(option["(buf.validate.field)"] ?? option["(buf.validate.oneof)"] ?? {}) as Options;
  return own["ignore"] === "IGNORE_ALWAYS"
    ? { isRequired: false, own: {} }
    : { isRequired: own["required"] === true, own };
}

/** Combines parts of an option that are set one after the other: the parser returns them as a list. */
function merged(value: unknown): unknown {
  if (Array.isArray(value)) {
    const parts = value as unknown[];
    return parts.length > 0 && parts.every(isObject) ? merged(Object.assign({}, ...parts)) : parts;
  }
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, merged(each)])) : value;
}

function isObject(value: unknown): value is Options {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function partOf(rules: Options, name: string): Options {
  const part = rules[name];
  return isObject(part) ? part : {};
}

/** Formats of strings, and the schemas that check them. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "z.email()",
  uuid: "z.uuid()",
  uri: "z.url()",
  hostname: "z.hostname()",
  ipv4: "z.ipv4()",
  ipv6: "z.ipv6()",
  ip: "z.union([z.ipv4(), z.ipv6()])",
};
const BOUNDS: Readonly<Record<string, string>> = { gt: "gt", gte: "gte", lt: "lt", lte: "lte" };
const TEXTS: Readonly<Record<string, string>> = { prefix: "startsWith", suffix: "endsWith", contains: "includes" };
const SIZES: Readonly<Record<string, string>> = {
  min_len: ">=",
  max_len: "<=",
  len: "===",
  min_pairs: ">=",
  max_pairs: "<=",
};
const LENGTHS: Readonly<Record<string, string>> = {
  min_len: "min",
  max_len: "max",
  len: "length",
  min_items: "min",
  max_items: "max",
};

/** Names of rules that do not restrict values, or that another part of the importer handles. */
const OTHER: ReadonlySet<string> = new Set("items keys values finite example strict".split(" "));

/**
 * Returns the schema `text` with checks for rules.
 *
 * @param kind name of the type in protovalidate, such as `string`; undefined if rules of that type are not supported
 * @param refused called with the name of each rule that has no check
 */
export function checked(text: string, kind: string, rules: Options, refused: (rule: string) => void): string {
  const isBig = kind.endsWith("64");
  const value = (each: unknown): string =>
    isBig ? `${String(each)}n` : typeof each === "string" ? quoted(each) : String(each);
  const list = (each: unknown): string => `[${(Array.isArray(each) ? each : [each]).map(value).join(", ")}]`;
  const entries = Object.entries(rules).filter(([name, each]) => !OTHER.has(name) && each !== false);
  const isSize = (name: string, rule: unknown): boolean => (name in LENGTHS || name in SIZES) && isExact(rule);
  const [lower, upper] = [rules["gt"] ?? rules["gte"], rules["lt"] ?? rules["lte"]];
  // A range whose lower bound is above its upper bound contains the values outside of it.
  const isInverted = lower !== undefined && upper !== undefined && Number(lower) > Number(upper);
  let base = text;
  const checks = entries.map(([name, rule]): string => {
    if (isBig && !isExact(rule)) {
      refused(`${kind}.${name}`);
      return "";
    }
    if (name === "const") return `.refine((value) => value === ${value(rule)})`;
    if (name === "in" && kind !== "bytes") return `.refine((value) => ${list(rule)}.includes(value))`;
    if (name === "not_in" && kind !== "bytes") return `.refine((value) => !${list(rule)}.includes(value))`;
    if (name in BOUNDS && !isInverted && typeof rule !== "object") return `.${BOUNDS[name]}(${value(rule)})`;
    if (kind === "string") {
      const format = FORMATS[name];
      if (format !== undefined && base === "z.string()" && entries.length === 1) {
        base = format;
        return "";
      }
      if (name in LENGTHS && isSize(name, rule)) return `.${LENGTHS[name]}(${Number(rule)})`;
      if (name in TEXTS) return `.${TEXTS[name]}(${quoted(String(rule))})`;
      if (name === "not_contains") return `.refine((value) => !value.includes(${quoted(String(rule))}))`;
      if (name === "pattern" && isRegExp(String(rule))) return `.regex(new RegExp(${quoted(String(rule))}, "u"))`;
    }
    if (kind === "bytes" && name in SIZES && isSize(name, rule))
      return `.refine((value) => value.length ${SIZES[name]} ${Number(rule)})`;
    if (kind === "map" && name in SIZES && isSize(name, rule)) {
      const size = base.startsWith("z.map(") ? "value.size" : "Object.keys(value).length";
      return `.refine((value) => ${size} ${SIZES[name]} ${Number(rule)})`;
    }
    if (kind === "repeated" && name in LENGTHS && isSize(name, rule)) return `.${LENGTHS[name]}(${Number(rule)})`;
    if (kind === "repeated" && name === "unique") return ".refine((value) => new Set(value).size === value.length)";
    refused(`${kind}.${name}`);
    return "";
  });
  return base + checks.join("");
}

/** Returns true for an exact integer, or a list of them: the parser does not check the types of options. */
function isExact(rule: unknown): boolean {
  return [rule].flat().every((each) => Number.isSafeInteger(each));
}

function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}

/** Returns a check that refuses the zero value of a type. */
export function nonZero(kind: string): string {
  if (kind === "string" || kind === "repeated") return ".min(1)";
  if (kind === "bytes") return ".refine((value) => value.length > 0)";
  if (kind === "map") return ".refine((value) => Object.keys(value).length > 0)";
  return kind === "bool" ? ".refine((value) => value)" : ".refine((value) => Number(value) !== 0)";
}
