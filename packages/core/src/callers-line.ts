import { whenExplained } from "./late-explanation.js";

/** Frames that this library's own functions may take between a call and the line that made it. */
const FRAMES_BETWEEN = 30;

/** The part of `Error` that is V8's, and that other engines may lack. */
interface V8Error {
  stackTraceLimit?: unknown;
  captureStackTrace?: (target: object, above: (...args: never[]) => unknown) => void;
}

const platform: ErrorConstructor & V8Error = Error;

const turn: Promise<void> = Promise.resolve();

/**
 * Rejects with `error`, whose stack then has the lines that wait for it: those that made the call. The promise of a call
 * is resolved with what this returns. An engine knows who waits for a promise while it settles, so that only calls that
 * fail pay for the line that made them. This function is no frame of the stack: of an error that ends a program Node shows
 * the source of the first frame.
 */
export async function rejectionAtCaller(error: Error): Promise<never> {
  // By then the promise of the call follows this one.
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
    // The error or the platform is frozen: the stack stays as it was.
  }
  throw error;
}
