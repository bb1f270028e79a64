// Parts of a schema that are not compiled run in zod itself. Its internals are reached through `_zod`, which zod keeps
// stable for libraries (zod.dev/library-authors).
import { misfit } from "../msgpack/misfit.js";
import { countSteps } from "../msgpack/reader.js";
import { plain } from "../msgpack/value.js";
import { costlyForCheck, costlyText } from "./costly-texts.js";
import type { PlainJson, Refused } from "./form.js";
import { MAX_NODES, nodesOf } from "./nodes.js";
import { restored } from "./restored.js";
import { ASYNCHRONOUS } from "./misfit-error.js";
import { pipe } from "./wrappers.js";
import { firstText, zodConfig } from "./zod-config.js";
import {
  add,
  isAborted,
  isExplicitlyAborted,
  isFull,
  Mode,
  parsedAndSent,
  refuse,
  run,
  type Shape,
  type ShapePayload,
  whole,
} from "./shape.js";

interface ZodIssue {
  readonly code?: string;
  readonly path?: PropertyKey[];
  readonly message?: string;
  readonly continue?: boolean;
  readonly inst?: { readonly _zod?: { readonly def?: { readonly error?: (issue: ZodIssue) => unknown } } };
}

interface ZodPayload {
  value: unknown;
  issues: ZodIssue[];
  aborted?: boolean;
}

interface ZodInternals {
  readonly def: {
    readonly type: string;
    readonly checks?: readonly ZodCheck[];
    readonly when?: unknown;
    readonly defaultValue?: unknown;
    readonly catchValue?: (refused: object) => unknown;
  };
  readonly traits: ReadonlySet<string>;
  readonly optin?: "optional" | "defaulted";
  readonly optout?: "optional";
  run(payload: ZodPayload, context: { readonly async: false }): ZodPayload | Promise<unknown>;
}

interface ZodCheck {
  readonly _zod: {
    readonly def: {
      readonly when?: (payload: ZodPayload) => boolean;
      readonly abort?: boolean;
      readonly format?: string;
    };
    check(payload: ZodPayload): unknown;
  };
}

/** Steps of validation that each check by zod is charged, and each value in a value that zod parses as a whole. */
const CHECK_STEPS = 1 / 4;
/** Steps that formats are charged in addition, for which zod calls a parser of the platform. */
const FORMAT_STEPS: ReadonlyMap<string | undefined, number> = new Map([
  ["url", 1],
  ["ipv6", 1],
  ["cidrv6", 1],
  ["jwt", 1],
  ["base64", 1 / 2],
  ["base64url", 1 / 2],
]);

/** Kinds of zod schemas without inner schemas: they accept or refuse a value as a whole. */
const LEAVES: ReadonlySet<string> = new Set(["custom", "transform", "string", "number", "bigint", "boolean", "date"]);

/** Returns the schema at `path` below the schema `root`; each element of the path is a property name or index. */
export function schemaAt(root: unknown, path: readonly (string | number)[]): unknown {
  let at = root;
  for (const key of path) at = (at as Record<string | number, unknown>)[key];
  return at;
}

/**
 * Creates the run-time schema of a zod schema that zod runs as a whole.
 *
 * @param input run-time schema of the input, if that contains bigints, maps or sets, which are numbers, objects and
 * arrays on the wire; otherwise the value of `takes`
 * @param takes how the schema treats plain JSON; undefined if JSON cannot represent every input
 */
export function external(schema: unknown, input?: Shape | PlainJson, takes?: PlainJson): Shape {
  const given = typeof input === "object" ? input : undefined;
  const { _zod: internals } = schema as { readonly _zod: ZodInternals };
  const isLeaf = LEAVES.has(internals.def.type);
  const parsed = (value: unknown): ZodPayload => settled(internals.run({ value, issues: [] }, { async: false }));
  const sentOf = (value: unknown): unknown => {
    const sent = run(given as Shape, value, Mode.Sent);
    const isSame = sent.issues.length === 0 && parsed(sent.value).issues.length === 0;
    return isSame ? sent.value : whole(value);
  };
  return {
    form: { kind: "external", schema, given, takes: given ? takes : (input as PlainJson | undefined) },
    optin: internals.optin,
    optout: internals.optout,
    run(payload, mode) {
      let value = mode.isWire === true ? plain(payload.value) : payload.value;
      const nodes = isLeaf ? 1 : nodesOf(value, MAX_NODES);
      if (nodes > MAX_NODES) {
        return refuse(payload, "too_big", `too big: expected at most ${MAX_NODES} values where zod looks at all`);
      }
      if (mode.isWire === true && given !== undefined) value = restored(given, payload.value);
      const costly = costlyText(schema, value);
      if (costly !== undefined) return adopt(payload, [costly]);
      countSteps(nodes * CHECK_STEPS);
      const result = parsed(value);
      if (mode.isSent !== true) payload.value = result.value;
      else if (given !== undefined && !isLeaf) payload.value = sentOf(value);
      if (result.aborted !== undefined) payload.aborted = result.aborted;
      return adopt(payload, result.issues);
    },
  };
}

/**
 * Creates a run-time schema that calls a zod preprocess function before `inner`. If an input matches `inner`, the
 * function receives it in the program's form.
 */
export function preprocessed(schema: unknown, inner: Shape): Shape {
  return pipe(external(schema, inner), inner);
}

/**
 * Creates a run-time schema that runs `inner` and then the checks of a zod schema that are not compiled, such as
 * refinements.
 *
 * @param done number of the zod schema's first checks that `inner` has already run
 */
export function refined(inner: Shape, schema: unknown, done: number = 0): Shape {
  // The checks are determined at the first run, because the schema inside a lazy one may not exist earlier.
  let checks: readonly ZodCheck[] | undefined;
  return {
    ...inner,
    form: { kind: "refined", inner, schema },
    run(payload, mode) {
      const { value } = payload;
      if (mode.isSent === true) return parsedAndSent(this, payload, () => run(inner, value, mode).value);
      return runChecks(inner.run(payload, mode), (checks ??= checksOf(schema).slice(done)));
    },
  };
}

/**
 * Returns a function that runs the checks of `schema` on a value of the right type and returns the resulting value. It
 * throws the mismatch error if a check fails.
 */
export function applyChecks(schema: unknown): <T>(value: T) => T {
  let checks: readonly ZodCheck[] | undefined;
  return <T>(value: T) => {
    const payload = runChecks({ value, issues: [] }, (checks ??= checksOf(schema)));
    // Checks may change a value, but not its type.
    return payload.issues.length === 0 ? (payload.value as T) : misfit();
  };
}

/** Returns a function that evaluates the default of a zod schema at each call. */
export function defaultOf(schema: unknown): () => unknown {
  const { _zod: internals } = schema as { readonly _zod: ZodInternals };
  return () => internals.def.defaultValue;
}

/** Returns the function with which a schema replaces a value that does not match it. */
export function catchOf(schema: unknown): (refused: Refused) => unknown {
  const { _zod: internals } = schema as { readonly _zod: ZodInternals };
  return ({ input, value, issues }) =>
    internals.def.catchValue?.({ value: plain(value), issues, error: { issues }, input: plain(input) });
}

function checksOf(schema: unknown): readonly ZodCheck[] {
  const { _zod: internals } = schema as { readonly _zod: ZodInternals };
  const { checks = [] } = internals.def;
  return internals.traits.has("$ZodCheck") ? [schema as ZodCheck, ...checks] : checks;
}

/** Runs the zod checks on `payload.value` in the order and under the conditions in which zod runs them. */
function runChecks(payload: ShapePayload, checks: readonly ZodCheck[]): ShapePayload {
  let aborted = isAborted(payload);
  for (const each of checks) {
    const { _zod: check } = each;
    const { when } = check.def;
    if (when === undefined ? aborted : isExplicitlyAborted(payload) || !when(payload as ZodPayload)) continue;
    const from = payload.issues.length;
    const added: ZodPayload = { value: payload.value, issues: [] };
    countSteps(CHECK_STEPS + (FORMAT_STEPS.get(check.def.format) ?? 0));
    const costly = costlyForCheck(each, payload.value);
    if (costly !== undefined) added.issues.push({ ...costly, continue: check.def.abort !== true });
    else settled((check.check(added) ?? added) as ZodPayload);
    payload.value = added.value;
    adopt(payload, added.issues);
    aborted ||= isAborted(payload, from);
  }
  return payload;
}

function settled(result: ZodPayload | Promise<unknown>): ZodPayload {
  if (result instanceof Promise) throw new Error(ASYNCHRONOUS);
  return result;
}

function adopt(payload: ShapePayload, issues: readonly ZodIssue[]): ShapePayload {
  for (const issue of issues) {
    if (isFull(payload)) break;
    add(payload, {
      ...issue,
      code: issue.code ?? "custom",
      path: [...(issue.path ?? [])],
      message: issue.message ?? ownMessage(issue) ?? (issue.code ?? "invalid value").replaceAll("_", " "),
    });
  }
  return payload;
}

/**
 * Returns the custom message of an issue, set in the schema or configured for zod as a whole; undefined if there is
 * none.
 */
function ownMessage(issue: ZodIssue): string | undefined {
  const { customError, localeError } = zodConfig();
  return firstText([issue.inst?._zod?.def?.error, customError, localeError], issue);
}
