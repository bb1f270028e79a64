// Texts with which zod, or what it calls, would be busy for longer than a server can wait: schemas are made to refuse them first. zod's own
// functions of a schema or check are put behind others, so that only what it is given is looked at, wherever zod has that from.
import { linear } from "./linear-pattern.js";
import { MAX_BIGINT_DIGITS } from "../msgpack/big-int.js";
import { hasLongHost, LONG_HOST } from "./url-hosts.js";

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
  readonly message: string;
}

const HAZARDS: readonly Hazard[] = [
  { isOf: ({ format }) => format === "url", isIn: hasLongHost, message: LONG_HOST },
  {
    isOf: ({ type, coerce }) => type === "bigint" && coerce === true,
    isIn: (text) => text.length > MAX_BIGINT_DIGITS && MANY_DIGITS.test(text),
    message: `invalid bigint: it has more than ${MAX_BIGINT_DIGITS} digits`,
  },
  {
    isOf: ({ check, tx }) => check === "overwrite" && NORMALIZES.test(String(tx)),
    isIn: (text) => text.length > MAX_MARKS && MANY_MARKS.test(text),
    message: `invalid text: it has more than ${MAX_MARKS} combining marks in a row`,
  },
];

const guarded = new WeakSet<object>();

/**
 * Has `schema`, a schema or check of zod's, and what is inside it refuse texts for which they would take long, from here on and wherever they are
 * used. The patterns of template literals take time that grows with a text's length.
 */
export function guardTexts(schema: unknown): void {
  if (typeof schema !== "object" || schema === null || guarded.has(schema)) return;
  guarded.add(schema);
  const { _zod: internals } = schema as Partial<Guarded>;
  if (internals === undefined) {
    if (isPlain(schema)) for (const part of Object.values(schema)) guardTexts(part);
    return;
  }
  const { def, pattern } = internals;
  if (def.type === "template_literal" && pattern !== undefined) linear(pattern);
  for (const each of HAZARDS) if (each.isOf(def)) guard(schema as Guarded, each);
  const [only, ...others] = (def.type === "union" && def.discriminator === undefined && def.options) || [];
  // zod keeps the function of an only option, which may be another now.
  if (only !== undefined && others.length === 0)
    setParse(internals, (payload, context) => only._zod.run?.(payload, context));
  // What a lazy schema is made of is made once.
  for (const part of def.type === "lazy" ? [internals.innerType] : Object.values(def)) guardTexts(part);
}

function guard(inst: Guarded, { isIn, message }: Hazard): void {
  const { _zod: internals } = inst;
  const { def, check, parse } = internals;
  const before =
    (step: Step, goesOn: boolean): Step =>
    (payload, context) => {
      const input = payload.value;
      const text = textOf(input);
      if (text === undefined || !isIn(text)) return step(payload, context);
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

/** A text, or that which a list is converted to; undefined where there is none. */
function textOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return typeof value === "string" ? value : undefined;
  try {
    return String(value);
  } catch {
    return undefined;
  }
}

/** Whether a part of a definition may hold schemas. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
