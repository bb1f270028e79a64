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

/** String formats that zod checks by more than a pattern. */
const BY_CODE: ReadonlySet<string> = new Set("url ipv6 cidrv6 base64 base64url jwt credit_card iban".split(" "));
const MAX_FLOAT32 = 3.4028234663852886e38;
const INT32 = 2 ** 31;

/** The checks of `schema`; undefined where one of them can only be run by zod. */
export function checksOf(schema: AnySchema): CheckNode[] | undefined {
  const own = hasTrait(schema, "$ZodCheck") ? [schema as unknown as zod.$ZodCheck] : [];
  const checks: CheckNode[] = [];
  for (const [index, check] of [...own, ...(schema._zod.def.checks ?? [])].entries()) {
    const nodes = checkNodes(check);
    if (nodes === undefined) return undefined;
    const told = toldOf(check._zod.def, index);
    checks.push(...(told === undefined ? nodes : nodes.map((node) => ({ ...node, told }))));
  }
  return checks;
}

/** Source of the function that zod makes of a message that is given as text. */
const TEXT = /^\(\)\s*=>\s*\w+(?:\.error)?$/;

/**
 * The message that the author gave to a schema or a check. One by a function is asked for at run time.
 *
 * @param check the number of the check; undefined for the schema itself
 */
export function toldOf(def: object, check?: number): Told | undefined {
  const { error } = def as { readonly error?: unknown };
  if (typeof error !== "function") return undefined;
  const text: unknown = TEXT.test(String(error)) ? (error as () => unknown)() : undefined;
  return typeof text === "string" ? { text } : { check };
}

function checkNodes(check: zod.$ZodCheck): CheckNode[] | undefined {
  const def = check._zod.def as unknown as CheckDef;
  if (def.abort === true) return undefined;
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
      return isNumeric(def.value) ? [{ kind: "multipleOf", step: def.value }] : undefined;
    case "number_format":
      return numberFormat(def.format);
    case "bigint_format":
      return bigintFormat(def.format);
    case "string_format":
      return stringFormat(check, def);
    default:
      return undefined;
  }
}

function boundNode(kind: "atLeast" | "atMost" | "moreThan" | "lessThan", bound: unknown): CheckNode[] | undefined {
  return isNumeric(bound) || bound instanceof Date ? [{ kind, bound }] : undefined;
}

function isNumeric(value: unknown): value is number | bigint {
  return (typeof value === "number" && !Number.isNaN(value)) || typeof value === "bigint";
}

function range(least: number | bigint, most: number | bigint): CheckNode[] {
  return [
    { kind: "atLeast", bound: least },
    { kind: "atMost", bound: most },
  ];
}

function numberFormat(format: string | undefined): CheckNode[] | undefined {
  switch (format) {
    case "safeint":
      return [{ kind: "integer" }];
    case "int32":
      return [{ kind: "integer", least: -INT32, most: INT32 - 1 }];
    case "uint32":
      return [{ kind: "integer", least: 0, most: 2 * INT32 - 1 }];
    case "float32":
      return range(-MAX_FLOAT32, MAX_FLOAT32);
    case "float64":
      return [];
    default:
      return undefined;
  }
}

function bigintFormat(format: string | undefined): CheckNode[] | undefined {
  if (format === "int64") return range(-(2n ** 63n), 2n ** 63n - 1n);
  return format === "uint64" ? range(0n, 2n ** 64n - 1n) : undefined;
}

/** zod's pattern for emojis without alternatives: some versions have two for the same characters, which take exponential time. */
function emojis(pattern: RegExp): RegExp {
  return new RegExp(pattern.source.replace(/\((\\p\{\w+\})\|(\\p\{\w+\})\)/, "[$1$2]"), pattern.flags);
}

function stringFormat(check: zod.$ZodCheck, def: CheckDef): CheckNode[] | undefined {
  const { format = "" } = def;
  const text = (key: string): string => def[key] as string;
  switch (format) {
    case "includes": {
      const position = def["position"];
      return [
        { kind: "includes", part: text("includes"), position: typeof position === "number" ? position : undefined },
      ];
    }
    case "starts_with":
      return [{ kind: "startsWith", part: text("prefix") }];
    case "ends_with":
      return [{ kind: "endsWith", part: text("suffix") }];
    default: {
      const isCustom =
        "fn" in def || (check._zod as { readonly traits?: Set<string> }).traits?.has("$ZodCustomStringFormat");
      const { pattern } = def;
      if (isCustom === true || BY_CODE.has(format) || !(pattern instanceof RegExp)) return undefined;
      // Such a pattern remembers where it stopped.
      if (pattern.global || pattern.sticky) return undefined;
      return [{ kind: "pattern", regex: format === "emoji" ? emojis(pattern) : pattern, format }];
    }
  }
}
