import { deferred, type Deferred } from "../deferred.js";
import type { WebTransportStream } from "./session.js";

/**
 * Maximum number of streams that are being created at the same time; others wait. A browser allocates pipes for each
 * one, and fails if it has none left.
 */
const MAX_CREATING = 32;
/**
 * Milliseconds until a stream that exceeded the peer's limit is tried again; doubled up to `MAX_RETRY_MS`. No event
 * reports that the limit has grown.
 */
const RETRY_MS = 4;
const MAX_RETRY_MS = 100;

export interface WantedStream extends Deferred<WebTransportStream> {
  /** True if the stream is no longer needed. If it is not being created yet, its promise never settles. */
  dropped: boolean;
}

export interface StreamMaker {
  make(): WantedStream;
  /** Called when the session has ended. Waiting streams are not created, and their promises never settle. */
  end(): void;
}

/**
 * Returns an object that creates streams in the order of requests. If the peer's stream limit is reached, further
 * requests wait, and one at a time is retried.
 */
export function streamMaker(create: () => Promise<WebTransportStream>): StreamMaker {
  /** Requested streams that do not exist yet, in order. The value is true while the stream is being created. */
  const wanted = new Map<WantedStream, boolean>();
  let creating = 0;
  let mayCreate = MAX_CREATING;
  let delay = RETRY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;

  const start = (): void => {
    for (const [next, isBeingMade] of wanted) {
      if (creating >= mayCreate) return;
      if (isBeingMade) continue;
      if (next.dropped) {
        wanted.delete(next);
      } else {
        wanted.set(next, true);
        creating++;
        void attempt(next);
      }
    }
  };
  const attempt = async (next: WantedStream): Promise<void> => {
    try {
      next.resolve(await create());
      wanted.delete(next);
      if (timer === undefined) mayCreate = MAX_CREATING;
      delay = RETRY_MS;
    } catch (error) {
      if (ended || !isExhausted(error)) {
        next.reject(error);
        wanted.delete(next);
      } else {
        wanted.set(next, false);
        retry();
      }
    }
    creating--;
    start();
  };
  const retry = (): void => {
    mayCreate = 0;
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      mayCreate = 1;
      start();
    }, delay);
    delay = Math.min(2 * delay, MAX_RETRY_MS);
  };
  return {
    make() {
      const next = { ...deferred<WebTransportStream>(), dropped: false };
      wanted.set(next, false);
      start();
      return next;
    },
    end() {
      ended = true;
      clearTimeout(timer);
      wanted.clear();
    },
  };
}

/**
 * Returns true if creating a stream failed because the peer's limit is reached. Browsers report that with different
 * error names (W3C WebTransport §6.4).
 */
function isExhausted(error: unknown): boolean {
  return error instanceof Error && /^(QuotaExceeded|Network|Operation)Error$/.test(error.name);
}
