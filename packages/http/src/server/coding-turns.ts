import { FairQueue } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";

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

/**
 * Decompresses a message of a request when `client` has its turn.
 *
 * @param hold called with the size of each decompressed piece, and with 0 before the first; throws if the request has
 * ended
 */
export function decompressInTurn(
  client: string | undefined,
  coding: ContentCoding,
  bytes: Uint8Array,
  maxBytes: number,
  hold: (bytes: number) => void,
): Promise<Uint8Array> {
  return inCodingTurn(client, () => {
    hold(0);
    return coding.decompress(bytes, maxBytes, hold, "maxDecompressedBytes");
  });
}
