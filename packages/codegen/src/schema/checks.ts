import type * as zod from "zod/v4/core";
import { type AnySchema, hasTrait } from "../types/zod.js";
import type { CheckNode, Told } from "./node.js";

interface CheckDef {
  readonly check: string;
  readonly abort?: boolean;
  readonly when?: unknown;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly [key: string]: unknown;
}

/** String formats that zod checks by a function in addition to a regular expression. */
const BY_CODE: ReadonlySet<string> = new Set("url ipv6 cidrv6 base64 base64url jwt credit_card iban".split(" "));
const MAX_FLOAT32 = 3.4028234663852886e38;
const INT32 = 2 ** 31;

/** Returns the checks of `schema`. Omits the check that defines a `z.custom` schema, because it is part of the type. */
export function readChecks(schema: AnySchema): CheckNode[] {
  const { type, checks = [] } = schema._zod.def;
  const own = hasTrait(schema, "$ZodCheck") ? [schema as unknown as zod.$ZodCheck] : [];
  return [...own, ...checks].flatMap((check, index) => {
    if (check === (schema as unknown) && type === "custom") return [];
    const isAborting = (check._zod.def as unknown as CheckDef).abort === true;
    const told = toldOf(check._zod.def, index);
    return checkNodes(check).map((node) => ({
      ...node,
      ...(told === undefined ? {} : { told }),
      ...(isAborting ? { opaque: true as const } : {}),
    }));
  });
}

/** Returns a check for the words that a `z.stringbool` accepts; undefined for other schemas. */
export function wordsOf(schema: AnySchema): CheckNode | undefined {
  const { truthy, falsy, case: letters } = schema._zod.bag as Readonly<Record<string, unknown>>;
  if (!Array.isArray(truthy) || !Array.isArray(falsy)) return undefined;
  const words = [...truthy, ...falsy].map((word) => String(word).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const regex = new RegExp(`^(?:${words.join("|")})$`, letters === "sensitive" ? "" : "i");
  return { kind: "pattern", regex, format: "regex", opaque: true };
}

/** Matches the source of the function that zod creates for a message given as text. */
const TEXT = /^\(\)\s*=>\s*\w+(?:\.error)?$/;

/**
 * Returns the custom error message of a schema or check; undefined if it has none. If a function creates the message,
 * it is called at run time.
 *
 * @param check index of the check; undefined for the schema itself
 */
export function toldOf(def: object, check?: number): Told | undefined {
  const { error } = def as { readonly error?: unknown };
  if (typeof error !== "function") return undefined;
  const text: unknown = TEXT.test(String(error)) ? (error as () => unknown)() : undefined;
  return typeof text === "string" ? { text } : { check };
}

const CUSTOM: CheckNode = { kind: "custom", opaque: true };

function checkNodes(check: zod.$ZodCheck): CheckNode[] {
  const def = check._zod.def as unknown as CheckDef;
  const size = (key: string): number => def[key] as number;
  switch (def.check) {
    case "min_length":
    case "min_size":
      return [{ kind: "minSize", size: size("minimum") }];
    case "max_length":
    case "max_size":
      return [{ kind: "maxSize", size: size("maximum") }];
    case "length_equals":
      return [{ kind: "exactSize", size: size("length") }];
    case "size_equals":
      return [{ kind: "exactSize", size: size("size") }];
    case "greater_than":
      return boundNode(def.inclusive === true ? "atLeast" : "moreThan", def.value);
    case "less_than":
      return boundNode(def.inclusive === true ? "atMost" : "lessThan", def.value);
    case "multiple_of":
      return [isNumeric(def.value) ? { kind: "multipleOf", step: def.value } : CUSTOM];
    case "number_format":
    case "bigint_format":
      return numberFormat(def.format);
    case "string_format":
      return [stringFormat(check, def)];
    case "overwrite":
      return [{ kind: "overwrite", by: nameOfOverwrite(def.tx as (text: string) => unknown), opaque: true }];
    case "property":
      return [{ kind: "property", name: String(def.property), schema: def.schema as AnySchema, opaque: true }];
    default:
      return [CUSTOM];
  }
}

/** Matches the source of zod's functions that change a text. */
const OVERWRITE = /^\(?(\w+)\)?\s*=>\s*(?:\1\.(trim|toLowerCase|toUpperCase|normalize)|\w+\.(slugify))\(\w*\)$/;

/** Returns the name of the zod function that `overwrite` calls, such as `trim`; undefined for other functions. */
function nameOfOverwrite(overwrite: (text: string) => unknown): string | undefined {
  const [, , name, other = name] = OVERWRITE.exec(String(overwrite)) ?? [];
  if (name !== "normalize") return other;
  // The source does not contain the form of normalization. This text has a different result in each form.
  const text = "\u00c5\u0041\u030a\ufb01";
  return ["NFC", "NFD", "NFKC", "NFKD"].find((form) => text.normalize(form) === overwrite(text));
}

function boundNode(kind: "atLeast" | "atMost" | "moreThan" | "lessThan", bound: unknown): CheckNode[] {
  return [isNumeric(bound) || bound instanceof Date ? { kind, bound } : CUSTOM];
}

function isNumeric(value: unknown): value is number | bigint {
  return (typeof value === "number" && !Number.isNaN(value)) || typeof value === "bigint";
}

function range(format: string, least: number | bigint, most: number | bigint): CheckNode[] {
  return [
    { kind: "atLeast", bound: least, format },
    { kind: "atMost", bound: most, format },
  ];
}

function numberFormat(format = "number"): CheckNode[] {
  switch (format) {
    case "safeint":
      return [{ kind: "integer", format: "integer" }];
    case "int32":
      return [{ kind: "integer", format, least: -INT32, most: INT32 - 1 }];
    case "uint32":
      return [{ kind: "integer", format, least: 0, most: 2 * INT32 - 1 }];
    case "float32":
      return range(format, -MAX_FLOAT32, MAX_FLOAT32);
    case "float64":
      return [{ kind: "format", format }];
    case "int64":
      return range(format, -(2n ** 63n), 2n ** 63n - 1n);
    case "uint64":
      return range(format, 0n, 2n ** 64n - 1n);
    default:
      return [{ kind: "format", format, opaque: true }];
  }
}

/**
 * Returns zod's regular expression for emoji without alternatives. In some versions, two alternatives match the same
 * characters, which takes exponential time.
 */
function emojis(pattern: RegExp): RegExp {
  return new RegExp(pattern.source.replace(/\((\\p\{\w+\})\|(\\p\{\w+\})\)/, "[$1$2]"), pattern.flags);
}

function stringFormat(check: zod.$ZodCheck, def: CheckDef): CheckNode {
  const { format = "", pattern: regex } = def;
  const text = (key: string): string => def[key] as string;
  if (regex !== undefined) {
    const { position } = def as { readonly position?: unknown };
    switch (format) {
      case "includes":
        return {
          kind: "includes",
          part: text("includes"),
          position: typeof position === "number" ? position : undefined,
          regex,
        };
      case "starts_with":
        return { kind: "startsWith", part: text("prefix"), regex };
      case "ends_with":
        return { kind: "endsWith", part: text("suffix"), regex };
      default:
    }
  }
  const isCustom =
    "fn" in def || (check._zod as { readonly traits?: Set<string> }).traits?.has("$ZodCustomStringFormat") === true;
  const options = optionsOf(def, check);
  const facts = { format, ...(options === undefined ? {} : { options }) };
  // A regular expression with one of these flags stores the position of its last match.
  const isPlain = regex !== undefined && !regex.global && !regex.sticky;
  if (isPlain && !isCustom && !BY_CODE.has(format)) {
    return { kind: "pattern", regex: format === "emoji" ? emojis(regex) : regex, ...facts };
  }
  return { kind: "format", ...(regex === undefined ? {} : { regex }), ...facts, opaque: true };
}

/** String formats whose regular expression the schema's author has written. */
const PATTERNS: ReadonlySet<string> = new Set(["regex", "lowercase", "uppercase"]);
const OPTIONS = ["version", "precision", "alg", "delimiter", "protocol", "hostname", "offset", "local"] as const;

/** Returns the options of a string format; undefined if it has none. */
function optionsOf(def: CheckDef, of: zod.$ZodCheck): Readonly<Record<string, string>> | undefined {
  const { format = "", pattern } = def;
  if (PATTERNS.has(format)) return undefined;
  const options: Record<string, string> = {};
  for (const key of OPTIONS) {
    const value = def[key];
    if (typeof value === "string" || typeof value === "number" || value === true || value instanceof RegExp) {
      options[key] = String(value);
    }
  }
  if (pattern !== undefined && String(pattern) !== usualPattern(def, of)) options["pattern"] = String(pattern);
  return Object.keys(options).length === 0 ? undefined : options;
}

/**
 * Returns zod's own regular expression for a string format, which depends on the version of zod; undefined if there is
 * none.
 */
function usualPattern(def: CheckDef, of: zod.$ZodCheck): string | undefined {
  const { constr } = of._zod as { readonly constr?: unknown };
  const { pattern: _, checks: __, ...rest } = def;
  try {
    const usual = new (constr as new (def: object) => { readonly _zod: { readonly def: CheckDef } })(rest);
    return String(usual._zod.def.pattern);
  } catch {
    return undefined;
  }
}
