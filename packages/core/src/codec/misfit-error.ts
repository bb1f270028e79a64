import { asError, RpcError } from "../errors.js";
import { nestingError } from "../msgpack/value.js";
import { type Facts, MAX_ISSUES } from "./shape.js";
import { configuredMessage } from "./zod-config.js";

/** The fields that issues of shapes and issues of zod have in common. */
interface AnyIssue {
  readonly path: readonly PropertyKey[];
  readonly code?: string | undefined;
  readonly message: string;
  readonly facts?: Facts | undefined;
}

/** Maximum characters of an issue's message, and of a key in its path, because the peer may have chosen them. */
const MAX_MESSAGE = 300;
const MAX_KEY = 60;

/** Beginning of the message that zod throws if a function in a schema returned a promise. */
export const ASYNCHRONOUS = "Encountered Promise";

/**
 * Returns the error for a value that does not match its schema: `invalid_argument`, with the first distinct issues as
 * details.
 */
export function misfitError(issues: readonly AnyIssue[]): RpcError {
  const details = new Map<string, { path: (string | number)[]; code: string; message: string }>();
  for (const issue of issues.slice(0, MAX_ISSUES)) {
    const { path, code = "custom" } = issue;
    const detail = { path: path.map(keyOf), code, message: shortened(configuredMessage(issue), MAX_MESSAGE) };
    details.set(JSON.stringify(detail), detail);
  }
  const [first] = details.values();
  const where = first === undefined || first.path.length === 0 ? "" : ` at ${first.path.join(".")}`;
  const atLeast = issues.length < MAX_ISSUES ? "" : "at least ";
  const more = details.size > 1 ? ` (and ${atLeast}${details.size - 1} more)` : "";
  return new RpcError("invalid_argument", `${first?.message ?? "invalid value"}${where}${more}`, {
    details: [...details.values()],
  });
}

/**
 * Returns the error for a schema that threw. A transform or refinement may have failed for the value, or the value may
 * be nested too deeply. An asynchronous function is a fault of the schema, not of the caller.
 */
export function schemaFailure(error: unknown): RpcError {
  const { name, message } = asError(error);
  const isAsync = message.startsWith(ASYNCHRONOUS);
  // Browsers report a stack overflow differently.
  const isDeep = name === "InternalError" || (name === "RangeError" && message.includes("call stack"));
  const reason = isDeep
    ? `the value is ${nestingError().message}`
    : isAsync
      ? "the schema returned a promise"
      : `the schema fails on this value: ${message}`;
  return new RpcError(isAsync ? "internal" : "invalid_argument", reason, { cause: error });
}

function keyOf(key: PropertyKey): string | number {
  return typeof key === "number" ? key : shortened(String(key), MAX_KEY);
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
