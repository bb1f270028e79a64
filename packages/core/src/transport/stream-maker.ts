import { deferred, type Deferred } from "../deferred.js";
import type { WebTransportStream } from "./session.js";

/** Streams that are being made at once; more wait here. A browser makes pipes for each, and fails when it runs out of them. */
const MAX_CREATING = 32;
/** Milliseconds until a stream that the peer's limit did not allow is tried again, at first and at most: nothing tells when. */
const RETRY_MS = 4;
const MAX_RETRY_MS = 100;

/** A stream that was asked for. */
export interface WantedStream extends Deferred<WebTransportStream> {
  /** Whether the stream is no longer needed; its promise then never settles. */
  dropped: boolean;
}

/** Makes the streams of a W3C session. */
export interface StreamMaker {
  make(): WantedStream;
  /** Called when the session has ended. Waiting streams are not created, and their promises never settle. */
  end(): void;
}

/** Creates streams in the order of requests. Requests beyond the peer's limit wait; one at a time is then retried. */
export function streamMaker(create: () => Promise<WebTransportStream>): StreamMaker {
  /** Wanted streams that are not made, in order; true: is being made. */
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

/** Whether a stream was not made since the peer's limit is reached: such fail at once (W3C WebTransport §6.4), and not by one name. */
function isExhausted(error: unknown): boolean {
  return error instanceof Error && /^(QuotaExceeded|Network|Operation)Error$/.test(error.name);
}
