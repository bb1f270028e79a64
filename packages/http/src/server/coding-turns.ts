import { FairQueue } from "@quicrpc/core/internal";

/**
 * Maximum number of messages that are compressed or decompressed at once, for all clients. Each takes memory that no
 * budget counts, by gzip up to 300 KiB, and up to 0.3 ms of the event loop, however small it is.
 */
const MAX_AT_ONCE = 16;

let running = 0;
const waiting: FairQueue<() => void, string | undefined> = new FairQueue();

/** Runs `code`, which compresses or decompresses one message, when `client` has its turn. Clients take turns. */
export async function inCodingTurn(client: string | undefined, code: () => Promise<Uint8Array>): Promise<Uint8Array> {
  if (running < MAX_AT_ONCE) running++;
  else await new Promise<void>((start) => waiting.push(client, start));
  try {
    return await code();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }
}
