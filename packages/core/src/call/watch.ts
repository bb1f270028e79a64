import { type RpcError, untracedError } from "../errors.js";
import { onAbort } from "./abort.js";
import { type CallOptions, cancelled, parentEnded } from "./options.js";

/** A call or a stream that its signals or its timeout may end. */
interface Watched {
  giveUp(error: RpcError): void;
}

/** Timers of deadlines. `Timer` is the type of a handle. */
export interface Timers<Timer> {
  /** Calls `onExpired` in `delayMs`. */
  add(delayMs: number, onExpired: () => void): Timer;
  remove(timer: Timer): void;
}

/**
 * Calls `giveUp` of `watched` when one of the call's signals fires or the time of `timers` is over, whichever is first,
 * and at most once. Returns a function that ends the watch, or undefined if there is nothing to watch.
 */
export function watch<Timer>(
  options: CallOptions | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
  timers: Timers<Timer>,
): (() => void) | undefined {
  const signal = options?.signal;
  const parent = options?.parent?.signal;
  if (signal === undefined && parent === undefined && timeoutMs === undefined) return undefined;
  return watching(signal, parent, timeoutMs, watched, timers);
}

// A separate function, because most calls have nothing to watch: variables shared by closures are allocated when their
// function starts.
function watching<Timer>(
  signal: AbortSignal | undefined,
  parent: AbortSignal | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
  timers: Timers<Timer>,
): () => void {
  const end = (error: RpcError): void => {
    unwatch();
    watched.giveUp(error);
  };
  const onTime = (): void => end(untracedError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : timers.add(timeoutMs, onTime);
  const forget = signal && onAbort(signal, () => end(cancelled(signal)));
  const forgetParent = parent && onAbort(parent, () => end(parentEnded(parent)));
  const unwatch = (): void => {
    if (timer !== undefined) timers.remove(timer);
    forget?.();
    forgetParent?.();
  };
  return unwatch;
}
