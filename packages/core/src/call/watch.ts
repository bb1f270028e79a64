import { type RpcError, untracedError } from "../errors.js";
import { onAbort } from "./abort.js";
import { expiries } from "./expiries.js";
import { type CallOptions, cancelled, parentEnded } from "./options.js";

/** A call or a stream that its signals or its time end. */
interface Watched {
  giveUp(error: RpcError): void;
}

/**
 * Calls `giveUp` of `watched` when one of the call's signals fires or the time is over, whichever comes first, and at most once. Returns
 * what undoes the watch, or undefined when there is nothing to watch.
 */
export function watch(
  options: CallOptions | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
): (() => void) | undefined {
  const signal = options?.signal;
  const parent = options?.parent?.signal;
  if (signal === undefined && parent === undefined && timeoutMs === undefined) return undefined;
  return watching(signal, parent, timeoutMs, watched);
}

// Apart, since most calls have nothing to watch: what closures share is allocated where their function begins.
function watching(
  signal: AbortSignal | undefined,
  parent: AbortSignal | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
): () => void {
  const end = (error: RpcError): void => {
    unwatch();
    watched.giveUp(error);
  };
  const onTime = (): void => end(untracedError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
  const expiry = timeoutMs === undefined ? undefined : expiries.add(timeoutMs, onTime);
  const forget = signal && onAbort(signal, () => end(cancelled(signal)));
  const forgetParent = parent && onAbort(parent, () => end(parentEnded(parent)));
  const unwatch = (): void => {
    if (expiry !== undefined) expiries.remove(expiry);
    forget?.();
    forgetParent?.();
  };
  return unwatch;
}
