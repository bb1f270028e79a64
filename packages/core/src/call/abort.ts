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
