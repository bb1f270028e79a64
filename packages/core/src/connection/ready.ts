import { onAbort } from "../call/watch.js";
import type { ItemIterator } from "../platform-types.js";
import { RpcError } from "../errors.js";
import type { Session } from "../session/session.js";
import { closedError } from "./session-caller.js";
import type { ConnectionState } from "./state.js";

/** How long to wait for a session. */
export interface ReadyOptions {
  /** Aborting ends the wait with the signal's reason; the connection continues. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds within which another attempt has to begin after one that failed; otherwise its error rejects. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** A condition that is waited for. It is checked after each change of state. */
interface Awaited<T> {
  /** Dials, unless an attempt is in progress. */
  readonly connect: () => void;
  /** Defined once it is ready. */
  readonly ready: () => T | undefined;
  /** Returns an error if waiting is pointless; otherwise undefined. */
  readonly refusal: () => Error | undefined;
  /** Returns the error that closed it. */
  readonly why: () => Error | undefined;
}

/** Dials, and waits as `Connection.ready` says. */
export async function whenReady<T>(
  states: ItemIterator<ConnectionState>,
  { connect, ready, refusal, why }: Awaited<T>,
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: ReadyOptions = {},
): Promise<T> {
  const since = Date.now();
  if (signal?.aborted) {
    await states.return();
    throw signal.reason;
  }
  connect();
  const forget = signal && onAbort(signal, () => void states.return());
  try {
    for await (const state of states) {
      const result = ready();
      if (result !== undefined) return result;
      if (state.status !== "connecting" || state.error === undefined) continue;
      const { error, retryAt = since } = state;
      if (refusal() !== undefined || retryAt - since >= timeoutMs) throw error;
    }
  } finally {
    forget?.();
  }
  signal?.throwIfAborted();
  throw closedError(why());
}

/**
 * Resolves when the peer has answered on a session. If the session is refused or ends first, or the signal fires, it
 * closes the session and rejects.
 */
export async function untilAccepted(session: Session, signal?: AbortSignal): Promise<void> {
  const close = (): void => void session.close();
  const forget = signal && onAbort(signal, close);
  try {
    await session.ping();
  } catch (error) {
    // A carrier without sessions, such as HTTP, is never refused as a whole.
    if (RpcError.from(error).code === "unimplemented") return;
    close();
    throw error;
  } finally {
    forget?.();
  }
}
