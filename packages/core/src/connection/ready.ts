import { onAbort } from "../call/watch.js";
import type { ItemIterator } from "../platform-types.js";
import { RpcError } from "../errors.js";
import type { Session } from "../session/session.js";
import { closedError } from "./session-caller.js";
import type { ConnectionState } from "./state.js";

export interface ReadyOptions {
  /** Aborting this signal rejects with its reason; the connection continues. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * If an attempt to connect fails and the next one would begin later than this, the wait ends with the attempt's
   * error. In milliseconds from the call of `ready`. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
}

interface Awaited<T> {
  readonly connect: () => void;
  /** Returns the session, or undefined until it is ready. */
  readonly ready: () => T | undefined;
  /** Returns the error that makes waiting pointless; otherwise undefined. */
  readonly refusal: () => Error | undefined;
  readonly closeError: () => Error | undefined;
}

/** Connects, and waits in the way that `Connection.ready` documents. */
export async function whenReady<T>(
  states: ItemIterator<ConnectionState>,
  { connect, ready, refusal, closeError }: Awaited<T>,
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: ReadyOptions = {},
): Promise<T> {
  const startedAt = Date.now();
  if (signal?.aborted) {
    await states.return();
    throw signal.reason;
  }
  connect();
  const stopWatching = signal && onAbort(signal, () => void states.return());
  try {
    for await (const state of states) {
      const result = ready();
      if (result !== undefined) return result;
      if (state.status !== "connecting" || state.error === undefined) continue;
      const { error, retryAt = startedAt } = state;
      if (refusal() !== undefined || retryAt - startedAt >= timeoutMs) throw error;
    }
  } finally {
    stopWatching?.();
  }
  signal?.throwIfAborted();
  throw closedError(closeError());
}

/**
 * Resolves when the peer has responded on a session. Rejects and closes the session if the peer refuses it, it ends, or
 * the signal aborts.
 */
export async function untilAccepted(session: Session, signal?: AbortSignal): Promise<void> {
  const close = (): void => void session.close();
  const stopWatching = signal && onAbort(signal, close);
  try {
    await session.ping();
  } catch (error) {
    // A transport without sessions, such as HTTP, never refuses a session.
    if (RpcError.from(error).code === "unimplemented") return;
    close();
    throw error;
  } finally {
    stopWatching?.();
  }
}
