import { RpcError } from "@quicrpc/core";
import { Gathered } from "./gathered.js";

/** A stream of bytes, as requests and answers of `fetch` have it. */
export type ByteBody = ReadableStream<Uint8Array>;

/** Returns the error of a message that is larger than its receiver takes, by the limit of that name. */
export function tooLarge(maxBytes: number, limit: SizeLimit = "maxFrameBytes"): RpcError {
  return new RpcError("resource_exhausted", `a message is larger than ${maxBytes} bytes (limits.${limit})`);
}

/** Limits of the bytes of one message. */
export type SizeLimit = "maxFrameBytes" | "maxDecompressedBytes";

/** Options of `readBody`. */
interface Reading {
  /** Receives the bytes of each piece; what it throws ends the reading. */
  readonly hold?: ((bytes: number) => void) | undefined;
  /** Receives a function that ends the reading from outside, with the error that it rejects with then. */
  readonly droppable?: (drop: (error: RpcError) => void) => void;
  /** The limit that `maxBytes` is. Default: "maxFrameBytes". */
  readonly limit?: SizeLimit | undefined;
}

/**
 * Reads a body to its end. Throws `RpcError` `resource_exhausted`, and cancels the body, as soon as it has more than `maxBytes`; what
 * the body itself fails with is thrown as it is.
 */
export async function readBody(
  body: ByteBody | null,
  maxBytes: number,
  { hold, droppable, limit }: Reading = {},
): Promise<Uint8Array> {
  const gathered = new Gathered();
  const reader = body?.getReader();
  let dropped: RpcError | undefined;
  const cancel = (reason: unknown): void => void reader?.cancel(reason).catch(() => {});
  droppable?.((error) => {
    dropped = error;
    cancel(error);
  });
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    try {
      if (gathered.length + read.value.length > maxBytes) throw tooLarge(maxBytes, limit);
      hold?.(read.value.length);
    } catch (error) {
      cancel(error);
      throw error;
    }
    gathered.append(read.value);
  }
  if (dropped !== undefined) throw dropped;
  return gathered.take(gathered.length);
}
