// Texts with which zod, or what it calls, would be busy for longer than a server can wait: schemas are made to refuse them first. zod's own
// functions of a schema or check are put behind others, so that only what it is given is looked at, wherever zod has that from.
import { linear } from "./linear-pattern.js";
import { MAX_BIGINT_DIGITS } from "../msgpack/big-int.js";
import { hasLongHost, LONG_HOST } from "./url-hosts.js";

/** Characters of an address of IPv6 with its prefix: the longest has 49. */
const MAX_ADDRESS = 100;
/** Combining marks in a row. Platforms put those of a text in order by the square of their number; the Unicode standard has 30 be enough. */
const MAX_MARKS = 100;
const MANY_MARKS = new RegExp(`(?<!\\p{M})\\p{M}{${MAX_MARKS + 1}}`, "u");
/** By the text of the function: zod says nothing else of it. */
const NORMALIZES = /\.normalize\(/;
const MANY_DIGITS = new RegExp(`^\\s*[-+]?\\d{${MAX_BIGINT_DIGITS + 1}}`);

/** The parts of zod's definition of a schema or a check that tell a hazard. */
interface Definition {
  readonly type?: string;
  readonly format?: string;
  readonly check?: string;
  readonly coerce?: boolean;
  readonly tx?: unknown;
  readonly abort?: boolean;
  readonly discriminator?: string;
  readonly options?: readonly Guarded[];
  readonly checks?: readonly unknown[];
}

/** Parses or checks the value of a payload; the issues that it adds are at the path where zod is. */
type Step = (payload: Payload, context?: unknown) => unknown;

interface Payload {
  readonly value: unknown;
  readonly issues: object[];
}

interface Internals {
  readonly def: Definition;
  readonly pattern?: RegExp;
  readonly innerType?: unknown;
  parse?: Step;
  run?: Step;
  check?: Step;
}

interface Guarded {
  readonly _zod: Internals;
}

/** A kind of texts that schemas or checks of a kind take long for. */
interface Hazard {
  readonly isOf: (definition: Definition) => boolean;
  readonly isIn: (text: string) => boolean;
  /** Whether texts anywhere in a value count: what is done with it is a function's business. */
  readonly isAnywhere?: boolean;
  readonly message: string;
}

const HAZARDS: readonly Hazard[] = [
  { isOf: ({ format }) => format === "url", isIn: hasLongHost, message: LONG_HOST },
  {
    // Some versions of zod make a URL of the text, which may have any host then.
    isOf: ({ format }) => format === "ipv6" || format === "cidrv6",
    isIn: (text) => text.length > MAX_ADDRESS,
    message: `invalid address: it has more than ${MAX_ADDRESS} characters`,
  },
  {
    isOf: ({ type, coerce }) => type === "bigint" && coerce === true,
    isIn: (text) => text.length > MAX_BIGINT_DIGITS && MANY_DIGITS.test(text),
    message: `invalid bigint: it has more than ${MAX_BIGINT_DIGITS} digits`,
  },
  {
    isOf: ({ check, tx }) => check === "overwrite" && NORMALIZES.test(String(tx)),
    isIn: (text) => text.length > MAX_MARKS && MANY_MARKS.test(text),
    isAnywhere: true,
    message: `invalid text: it has more than ${MAX_MARKS} combining marks in a row`,
  },
];

const guarded = new WeakSet<object>();

/**
 * Has `schema`, a schema or check of zod's, and what is inside it refuse texts for which they would take long, from here on and wherever they are
 * used. The patterns of template literals take time that grows with a text's length.
 */
export function guardTexts(schema: unknown): void {
  if (typeof schema === "object" && schema !== null && guarded.has(schema)) return;
  const found = new Set<object>();
  // Throws where what is lazy is not there yet: nothing is guarded by half.
  collect(schema, found);
  for (const each of found) {
    if (hasInternals(each)) guardOwn(each);
    guarded.add(each);
  }
}

function collect(part: unknown, found: Set<object>): void {
  if (typeof part !== "object" || part === null || guarded.has(part) || found.has(part)) return;
  const inside = hasInternals(part) ? partsOf(part) : isPlain(part) ? Object.values(part) : [];
  found.add(part);
  for (const each of inside) collect(each, found);
}

function hasInternals(part: object): part is Guarded {
  return (part as Partial<Guarded>)._zod !== undefined;
}

function partsOf({ _zod: { def, innerType } }: Guarded): unknown[] {
  // What a lazy schema is made of is made once.
  if (def.type === "lazy") return [innerType, def.checks];
  // To read a default is to have the program make one.
  const names = Object.keys(def).filter((name) => name !== "defaultValue");
  return names.map((name) => (def as Readonly<Record<string, unknown>>)[name]);
}

function guardOwn(inst: Guarded): void {
  const { _zod: internals } = inst;
  const { def, pattern } = internals;
  if (def.type === "template_literal" && pattern !== undefined) linear(pattern);
  for (const each of HAZARDS) if (each.isOf(def)) guard(inst, each);
  const [only, ...others] = (def.type === "union" && def.discriminator === undefined && def.options) || [];
  // zod keeps the function of an only option, which may be another now.
  if (only !== undefined && others.length === 0)
    setParse(internals, (payload, context) => only._zod.run?.(payload, context));
}

function guard(inst: Guarded, { isIn, isAnywhere = false, message }: Hazard): void {
  const { _zod: internals } = inst;
  const { def, check, parse } = internals;
  const before =
    (step: Step, goesOn: boolean): Step =>
    (payload, context) => {
      const input = payload.value;
      if (!(isAnywhere ? isAnywhereIn(input, isIn) : isTextOf(input, isIn))) return step(payload, context);
      payload.issues.push({ code: "invalid_format", path: [], message, input, inst, continue: goesOn });
      // Checks say nothing but by issues.
      return step === check ? undefined : payload;
    };
  if (check !== undefined) internals.check = before(check, def.abort !== true);
  else if (parse !== undefined) setParse(internals, before(parse, false));
}

function setParse(internals: Internals, parse: Step): void {
  // A schema without checks runs as it parses.
  if (internals.run === internals.parse) internals.run = parse;
  internals.parse = parse;
}

/** Whether it is so of a text, or of that which a list is converted to. */
function isTextOf(value: unknown, isIn: Hazard["isIn"]): boolean {
  if (!Array.isArray(value)) return typeof value === "string" && isIn(value);
  try {
    return isIn(String(value));
  } catch {
    return false;
  }
}

/** Whether it is so of a text in a value, which may be a key. */
function isAnywhereIn(value: unknown, isIn: Hazard["isIn"]): boolean {
  if (typeof value === "string") return isIn(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  const isList = Array.isArray(value) || value instanceof Map || value instanceof Set;
  return Array.from<unknown>(isList ? value : Object.entries(value)).some((each) => isAnywhereIn(each, isIn));
}

/** Whether a part of a definition may hold schemas. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
