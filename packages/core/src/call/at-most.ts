import { type Expiry, expiries } from "./expiries.js";

/** Waits for the first of `events`, but no longer than `timeoutMs` (which may be `Infinity`). Rejects as they do. */
export async function atMost(timeoutMs: number, ...events: readonly Promise<unknown>[]): Promise<void> {
  let late: Expiry | undefined;
  const expired = new Promise<void>((resolve) => {
    if (timeoutMs !== Infinity) late = expiries.add(timeoutMs, resolve);
  });
  try {
    await Promise.race([...events, expired]);
  } finally {
    if (late !== undefined) expiries.remove(late);
  }
}
