import { asError, RpcError } from "../errors.js";
import { type Facts, MAX_ISSUES } from "./shape.js";
import { configuredMessage } from "./zod-config.js";

/** Something wrong with a value, as shapes and zod tell it. */
interface AnyIssue {
  readonly path: readonly PropertyKey[];
  readonly code?: string | undefined;
  readonly message: string;
  readonly facts?: Facts | undefined;
}

/** Characters of an issue's message, and of a key in its path, which may be of the peer's making. */
const MAX_MESSAGE = 300;
const MAX_KEY = 60;

/** How the message begins with which zod throws for a function that returned a promise. */
export const ASYNCHRONOUS = "Encountered Promise";

/** Makes the error that refuses a value: `invalid_argument`, whose details are its first issues, each once. */
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
 * Makes the error of a schema that threw: a transform or refinement was not made for the value, the stack overflowed, or a function
 * is asynchronous, which is the schema's fault and not the caller's.
 */
export function schemaFailure(error: unknown): RpcError {
  const { name, message } = asError(error);
  const isAsync = message.startsWith(ASYNCHRONOUS);
  // Browsers differ in how they say that the stack has overflowed.
  const isDeep = name === "InternalError" || (name === "RangeError" && message.includes("call stack"));
  const reason = isDeep
    ? "the value refers to itself, or is nested too deeply"
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
