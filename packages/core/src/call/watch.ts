import { untracedError, RpcError } from "../errors.js";
import { type CallOptions, cancelled, parentEnded } from "./options.js";
import { expiries } from "./expiries.js";

const waiting: WeakMap<AbortSignal, Set<() => void>> = new WeakMap();

/**
 * Calls `callback` once when `signal` fires, or in a microtask if it has already fired. Returns a function that cancels
 * this. All calls with the same signal share one event listener, because Node warns about more than ten.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? listen(signal);
  // A new function for each registration, because the set would contain the same callback only once.
  const ownListener = (): void => callback();
  callbacks.add(ownListener);
  return () => {
    callbacks.delete(ownListener);
    if (callbacks.size > 0 || waiting.get(signal) !== callbacks) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", fire);
  };
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  waiting.set(signal, callbacks);
  // An aborted signal fires no further event. The callback runs in a microtask, so that the caller first receives the
  // function that cancels it.
  if (signal.aborted) queueMicrotask(() => fire.call(signal));
  else signal.addEventListener("abort", fire, { once: true });
  return callbacks;
}

function fire(this: AbortSignal): void {
  const callbacks = waiting.get(this);
  waiting.delete(this);
  if (callbacks !== undefined) for (const callback of callbacks) callback();
}

interface Watched {
  cancel(error: RpcError): void;
}

export interface Timers<Timer> {
  add(delayMs: number, onExpired: () => void): Timer;
  remove(timer: Timer): void;
}

/**
 * Calls `watched.giveUp` once, with the error, when a signal of the call fires or `timeoutMs` milliseconds have passed.
 * Returns a function that cancels this, or undefined if the call has no signal and no timeout.
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

// A separate function, because most calls have no signal and no timeout: V8 allocates variables shared by closures at
// the start of the function.
function watching<Timer>(
  signal: AbortSignal | undefined,
  parent: AbortSignal | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
  timers: Timers<Timer>,
): () => void {
  const end = (error: RpcError): void => {
    unwatch();
    watched.cancel(error);
  };
  const onTime = (): void => end(untracedError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : timers.add(timeoutMs, onTime);
  const stopWatching = signal && onAbort(signal, () => end(cancelled(signal)));
  const forgetParent = parent && onAbort(parent, () => end(parentEnded(parent)));
  const unwatch = (): void => {
    if (timer !== undefined) timers.remove(timer);
    stopWatching?.();
    forgetParent?.();
  };
  return unwatch;
}

export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAborted = (): void => reject(RpcError.from(signal?.reason, "cancelled"));
    if (signal?.aborted === true) {
      onAborted();
      return;
    }
    const expiry = expiries.add(delayMs, () => {
      stopWatching?.();
      resolve();
    });
    const stopWatching =
      signal &&
      onAbort(signal, () => {
        expiries.remove(expiry);
        onAborted();
      });
  });
}
