import { whenExplained } from "./errors.js";

/** Most frames of this library between a call and the application's line that made it. */
const FRAMES_BETWEEN = 30;

/** The part of `Error` that only V8 has. */
interface V8Error {
  stackTraceLimit?: unknown;
  captureStackTrace?: (target: object, above: (...args: never[]) => unknown) => void;
}

const platform: ErrorConstructor & V8Error = Error;

const turn: Promise<void> = Promise.resolve();

/**
 * Returns a promise that rejects with `error`, after adding the lines that wait for this promise to its stack: the
 * lines that made the call. The promise of a call is resolved with the returned promise. V8 knows who awaits a promise
 * while it settles, so only failed calls pay for the stack. This function leaves no frame of its own, because Node
 * prints the source of the first frame of an uncaught error.
 */
export async function rejectionAtCaller(error: Error): Promise<never> {
  // After this turn, the promise of the call follows this one.
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
    // `Error` or the error is frozen: the stack is unchanged.
  }
  throw error;
}
