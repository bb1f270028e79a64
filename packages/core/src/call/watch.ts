import { untracedError, RpcError } from "../errors.js";
import { type CallOptions, cancelled, parentEnded } from "./options.js";
import { expiries } from "./expiries.js";

/** The callbacks that wait for each signal. */
const waiting: WeakMap<AbortSignal, Set<() => void>> = new WeakMap();

/**
 * Calls `callback` once when `signal` fires, or soon after this call if it has already fired. Returns a function that
 * cancels this. All calls that share a signal use one listener, because Node warns of a leak from the eleventh on.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? listen(signal);
  // A new function each time, because the same callback may be added twice.
  const own = (): void => callback();
  callbacks.add(own);
  return () => {
    callbacks.delete(own);
    if (callbacks.size > 0 || waiting.get(signal) !== callbacks) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", fire);
  };
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  waiting.set(signal, callbacks);
  // A signal fires its event only once. The callback runs in a microtask, so that the caller has its cancel function
  // first.
  if (signal.aborted) queueMicrotask(() => fire.call(signal));
  else signal.addEventListener("abort", fire, { once: true });
  return callbacks;
}

function fire(this: AbortSignal): void {
  const callbacks = waiting.get(this);
  waiting.delete(this);
  if (callbacks !== undefined) for (const callback of callbacks) callback();
}

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

/** Resolves after `delayMs`. Rejects with `RpcError` if the signal fires first. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(RpcError.from(signal?.reason, "cancelled"));
    if (signal?.aborted === true) {
      fail();
      return;
    }
    const expiry = expiries.add(delayMs, () => {
      forget?.();
      resolve();
    });
    const forget =
      signal &&
      onAbort(signal, () => {
        expiries.remove(expiry);
        fail();
      });
  });
}
