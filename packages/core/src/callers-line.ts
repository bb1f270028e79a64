import { whenExplained } from "./errors.js";

/** Maximum number of stack frames of this library between a call and the application's line that made the call. */
const FRAMES_BETWEEN = 30;

interface V8Error {
  stackTraceLimit?: unknown;
  captureStackTrace?: (target: object, above: (...args: never[]) => unknown) => void;
}

const platform: ErrorConstructor & V8Error = Error;

const turn: Promise<void> = Promise.resolve();

/**
 * Rejects with `error` after adding the application's lines that await the call to its stack. A call resolves its
 * promise with the returned promise. Because V8 finds the awaiting functions only while a promise settles, successful
 * calls do not pay for a stack.
 */
export async function rejectionAtCaller(error: Error): Promise<never> {
  // After two microtasks, the promise of the call depends on this one.
  await turn;
  await turn;
  const explanation = whenExplained(error);
  if (explanation !== undefined) await explanation;
  const { stackTraceLimit: limit } = platform;
  if (platform.captureStackTrace === undefined || typeof limit !== "number" || limit === 0) throw error;
  try {
    platform.stackTraceLimit = limit + FRAMES_BETWEEN;
    platform.captureStackTrace(error, rejectionAtCaller);
    platform.stackTraceLimit = limit;
  } catch {
    // `Error` or `error` is frozen, so the stack stays unchanged.
  }
  throw error;
}
