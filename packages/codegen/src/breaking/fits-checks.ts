import * as z from "zod";
import { demandsIn, optionOfKey } from "../shape/checks.js";
import type { Checks, LiteralValue } from "../shape/shape.js";
import { impliesBound, impliesFormat, impliesStep } from "./implied.js";

const FORMATS: ReadonlySet<string> = new Set(
  (
    "base64 base64url cidrv4 cidrv6 cuid cuid2 date datetime duration e164 email emoji guid hex hostname ipv4 ipv6 jwt ksuid mac nanoid time ulid " +
    "url uuid xid"
  ).split(" "),
);

/** Returns true if `value` is certain to pass `checks`. The result of a user's function is never certain. */
export function fitsChecks(value: LiteralValue, checks: Checks = {}): boolean {
  const { multipleOf, format, options = {}, patterns = [], custom, lenient, changed, others } = checks;
  if (lenient === true) return true;
  if (custom !== undefined || changed !== undefined || others !== undefined) return false;
  const own = checksOfOnly(value);
  return (
    (["min", "max", "above", "below"] as const).every((key) => {
      const bound = checks[key];
      return bound === undefined || impliesBound(own, key, bound);
    }) &&
    demandsIn(multipleOf).every((step) => impliesStep(own, step)) &&
    demandsIn(format).every((each) =>
      typeof value === "string" ? hasFormat(value, each, options) : impliesFormat(own, each),
    ) &&
    patterns.every((pattern) => typeof value === "string" && regexOf(pattern)?.test(value) === true)
  );
}

/** Returns checks that only `value` passes. For a text, all texts of the same length pass them. */
function checksOfOnly(value: LiteralValue): Checks {
  if (typeof value === "string") return sized(Array.from(value).length);
  if (typeof value === "number") return { ...sized(value), multipleOf: value };
  if (typeof value !== "object" || value === null) return {};
  return "bigint" in value ? { ...sized(value.bigint), multipleOf: value.bigint } : sized(Number(value.number));
}

function sized(size: number | string): Checks {
  return { min: size, max: size };
}

function hasFormat(text: string, format: string, options: Readonly<Record<string, string>>): boolean {
  if (!FORMATS.has(format)) return false;
  const given = Object.entries(options).flatMap(([key, option]) => {
    const [of, name] = optionOfKey(key);
    return of === format ? [[name, optionOf(name, option)] as const] : [];
  });
  try {
    const makers: Readonly<Record<string, unknown>> = { ...z, ...z.iso };
    const make = makers[format] as ((options: object) => z.ZodType) | undefined;
    return make?.(Object.fromEntries(given)).safeParse(text).success === true;
  } catch {
    return false;
  }
}

function optionOf(name: string, text: string): unknown {
  if (name === "precision") return Number(text);
  return text === "true" || (regexOf(text) ?? text);
}

function regexOf(text: string): RegExp | undefined {
  const [, source, flags] = /^\/([^]*)\/(\w*)$/.exec(text) ?? [];
  try {
    return source === undefined ? undefined : new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
