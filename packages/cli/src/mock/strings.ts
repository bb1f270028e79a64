import type { Bounds } from "@quicrpc/codegen";
import * as fc from "fast-check";
import { MockError, type ValueSource } from "./schema.js";

const WORDS =
  "amber birch cedar delta ember fjord grove harbor iris juniper kite lagoon maple nova orchid pine quartz river sable tide umber vale willow zephyr".split(
    " ",
  );
const HOSTS = ["example.org", "shop.example", "www.example.com"];
const word = fc.constantFrom(...WORDS);
const hex = (length: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const digits = (min: number, max: number, width = 2): fc.Arbitrary<string> =>
  fc.integer({ min, max }).map((value) => String(value).padStart(width, "0"));
const date = fc.tuple(digits(1, 12), digits(1, 28)).map(([month, day]) => `2026-${month}-${day}`);
const time = fc.tuple(digits(0, 23), digits(0, 59), digits(0, 59)).map((parts) => parts.join(":"));
const base64 = fc.uint8Array({ minLength: 3, maxLength: 12 }).map((bytes) => Buffer.from(bytes));
const ipv4 = fc.integer({ min: 1, max: 254 }).map((last) => `192.0.2.${last}`);
const ipv6 = fc.integer({ min: 1, max: 0xffff }).map((last) => `2001:db8::${last.toString(16)}`);
const part = (json: object): string => Buffer.from(JSON.stringify(json)).toString("base64url");

/**
 * Sources of values for string formats that zod checks by more than a pattern, or whose pattern does not lead to useful
 * values.
 */
const FORMATS: Readonly<Record<string, ValueSource>> = {
  email: fc.tuple(word, fc.constantFrom(...HOSTS)).map(([name, host]) => `${name}@${host}`),
  url: fc.tuple(fc.constantFrom(...HOSTS), word).map(([host, path]) => `https://${host}/${path}`),
  hostname: fc.constantFrom(...HOSTS),
  uuid: fc.uuid({ version: 4 }),
  guid: fc.uuid(),
  datetime: fc.tuple(date, time).map(([day, hour]) => `${day}T${hour}Z`),
  date,
  time,
  duration: fc.integer({ min: 1, max: 90 }).map((minutes) => `PT${minutes}M`),
  ipv4,
  ipv6,
  cidrv4: fc.constantFrom("192.0.2.0/24", "198.51.100.0/24"),
  cidrv6: fc.constantFrom("2001:db8::/32", "2001:db8:1::/48"),
  base64: base64.map((bytes) => bytes.toString("base64")),
  base64url: base64.map((bytes) => bytes.toString("base64url")),
  jwt: word.map((name) => `${part({ typ: "JWT", alg: "HS256" })}.${part({ sub: name })}.c2lnbmF0dXJl`),
  emoji: fc.constantFrom("🙂", "🌊", "🌲", "🚀"),
  e164: fc.integer({ min: 1000000, max: 9999999 }).map((number) => `+1555${number}`),
  json_string: word.map((text) => JSON.stringify({ text })),
  mac: hex(12).map((text) => (text.match(/../g) ?? []).join(":")),
};

/**
 * Returns a source of strings with a format, a pattern or a length. Without any of them, the strings are some words.
 */
export function stringsWithin({ format, patterns, minimum, maximum }: Bounds): ValueSource {
  const minLength = Number(minimum ?? 0);
  const maxLength = Number(maximum ?? Number.POSITIVE_INFINITY);
  const hasLength = (text: unknown): boolean => String(text).length >= minLength && String(text).length <= maxLength;
  const known = format !== undefined && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  // The pattern may be more specific than the format, for example for one version of a UUID.
  if (known !== undefined && patterns.every((pattern) => passes(known, pattern))) return known;
  const [first] = patterns;
  return first === undefined ? wordsBetween(minLength, maxLength) : matching(first, maxLength).filter(hasLength);
}

/** Returns true if nearly every value of a source matches a pattern. */
function passes(source: ValueSource, pattern: RegExp): boolean {
  return fc
    .sample(source, { seed: 1, numRuns: 5 })
    .every((value) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(String(value)));
}

function matching(pattern: RegExp, maxLength: number): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(
      new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")),
      Number.isFinite(maxLength) ? { maxLength: maxLength } : {},
    );
  } catch (error) {
    throw new MockError(`no text is made by the pattern ${pattern}: ${(error as Error).message}`);
  }
}

function wordsBetween(minLength: number, maxLength: number): ValueSource {
  return fc
    .array(word, { minLength: Math.max(1, Math.ceil(minLength / 4)), maxLength: Math.max(2, Math.ceil(minLength / 4)) })
    .map((words) => {
      const text = words.join(" ").slice(0, Math.min(maxLength, 1_000_000)).trimEnd();
      return text.padEnd(minLength, "e");
    });
}
