import type { WebTransportSession } from "./session.js";

/**
 * Maximum unacknowledged aborts. Chromium keeps resets and stop-sendings until they are acknowledged, and ends a
 * connection with more than 1,000 such frames, including its own.
 */
const MAX_UNACKNOWLEDGED = 400;
/** Number of aborts after which a probe is sent to find out whether the peer has acknowledged them. */
const PROBED_AFTER = 100;
/**
 * Milliseconds after which aborts count as acknowledged if the peer does not allow the probe (this constant) or does
 * not answer it (the next).
 */
const REFUSED_MS = 250;
const UNANSWERED_MS = 10_000;

/** Sends the resets and stop-sendings of a session's streams, and limits how many are unacknowledged at a time. */
export interface PacedAborts {
  /** Calls `abort`, which sends at most one frame, at once or after enough earlier frames were acknowledged. */
  send(abort: () => void): void;
  /** Called when the session has ended. Drops the aborts that are still waiting. */
  end(): void;
}

/**
 * Limits the unacknowledged aborts of a W3C session. The promises of `abort` and `cancel` fulfil at once, but a
 * stream's `close` fulfils when the peer has acknowledged the stream and everything sent before it. So an empty
 * unidirectional stream is sent after each batch of aborts as a probe.
 */
export function pacedAborts(session: WebTransportSession): PacedAborts {
  const waiting = new Set<() => void>();
  let unacknowledged = 0;
  let isProbing = false;
  let ended = false;
  const timers = new Set<ReturnType<typeof setTimeout>>();

  const sendWaiting = (): void => {
    for (const abort of waiting) {
      if (unacknowledged === MAX_UNACKNOWLEDGED) break;
      waiting.delete(abort);
      unacknowledged++;
      abort();
    }
    if (isProbing || unacknowledged < PROBED_AFTER) return;
    isProbing = true;
    const sent = unacknowledged;
    void probe().then(() => {
      stopWaiting();
      isProbing = false;
      unacknowledged -= sent;
      if (!ended) sendWaiting();
    });
  };
  const passed = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (!ended) timers.add(setTimeout(resolve, ms));
    });
  const stopWaiting = (): void => {
    timers.forEach(clearTimeout);
    timers.clear();
  };
  const probe = (): Promise<void> => Promise.race([acknowledged(), passed(UNANSWERED_MS)]);
  const acknowledged = async (): Promise<void> => {
    const stream = await session.createUnidirectionalStream?.().catch(() => undefined);
    // If the peer does not allow the stream, waiting for a short time must do.
    await (stream === undefined ? passed(REFUSED_MS) : stream.close().catch(() => {}));
  };
  return {
    send(abort) {
      // Browsers always have this method; other implementations may need no limit.
      if (session.createUnidirectionalStream === undefined) {
        abort();
        return;
      }
      waiting.add(abort);
      sendWaiting();
    },
    end() {
      ended = true;
      waiting.clear();
      stopWaiting();
    },
  };
}
