import type { WebTransportSession } from "./session.js";

/** Resolves when the session is ready. When `signal` aborts before, the session is closed. */
export async function whenTransportReady(session: WebTransportSession, signal: AbortSignal): Promise<void> {
  // Whoever waits for `ready` receives the error there.
  session.closed.catch(() => {});
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => {
      session.close();
      reject(signal.reason);
    });
  });
  aborted.catch(() => {});
  await Promise.race([session.ready, aborted]);
}
