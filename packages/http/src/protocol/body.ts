import { RpcError } from "@quicrpc/core";
import { Gathered } from "./gathered.js";

export type ByteBody = ReadableStream<Uint8Array>;

export function messageTooLarge(maxBytes: number, limit: SizeLimit = "maxFrameBytes"): RpcError {
  return new RpcError("resource_exhausted", `a message is larger than ${maxBytes} bytes (limits.${limit})`);
}

export type SizeLimit = "maxFrameBytes" | "maxDecompressedBytes";

interface Reading {
  /** Called with the size of each piece. If it throws, reading ends. */
  readonly hold?: ((bytes: number) => void) | undefined;
  /** Called with a function that ends the reading: if that is called, `readBody` rejects with the given error. */
  readonly droppable?: (drop: (error: RpcError) => void) => void;
  /** Name of the limit that `maxBytes` comes from, for errors. Default: "maxFrameBytes". */
  readonly limit?: SizeLimit | undefined;
}

/**
 * Reads a body to its end. As soon as it exceeds `maxBytes`, cancels it and throws `RpcError` `resource_exhausted`. An
 * error of the body itself is thrown unchanged.
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
      if (gathered.length + read.value.length > maxBytes) throw messageTooLarge(maxBytes, limit);
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
