import type { WebTransportSession } from "./session.js";

/** Resolves when the session is ready. When `signal` aborts before, or has before the call, the session is closed. */
export async function whenTransportReady(session: WebTransportSession, signal: AbortSignal): Promise<void> {
  // The caller receives the error from `ready`.
  session.closed.catch(() => {});
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      session.close();
      reject(signal.reason);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp);
  });
  aborted.catch(() => {});
  await Promise.race([aborted, session.ready]);
}
