import { RpcError } from "@quicrpc/core";
import { type SizeLimit, messageTooLarge } from "./body.js";
import type { ContentCoding } from "./compression.js";
import { Gathered } from "./gathered.js";

/** The members of a `node:zlib` stream that this file uses. */
interface ZlibStream extends AsyncIterable<Uint8Array> {
  end(bytes: Uint8Array): unknown;
}

/** The functions of `node:zlib` that this file uses. */
export interface ZstdLibrary {
  createZstdCompress(): ZlibStream;
  createZstdDecompress(): ZlibStream;
}

/** Zstandard compression; undefined if the runtime lacks it. Node has it from version 22.15 on. */
export const zstd: ContentCoding | undefined = zstdBy(runtimeLibrary());

/** Creates the Zstandard compression from a library; returns undefined if the library is missing or lacks Zstandard. */
export function zstdBy(library: Partial<ZstdLibrary> | undefined): ContentCoding | undefined {
  const { createZstdCompress, createZstdDecompress } = library ?? {};
  if (createZstdCompress === undefined || createZstdDecompress === undefined) return undefined;
  return {
    name: "zstd",
    compress: (bytes) => through(createZstdCompress(), bytes, Number.POSITIVE_INFINITY),
    async decompress(bytes, maxBytes, hold, limit) {
      // The library treats truncated data as complete.
      if (!isCompleteZstd(bytes))
        throw new RpcError("invalid_argument", "a message is not zstd data, or not all of it");
      try {
        return await through(createZstdDecompress(), bytes, maxBytes, hold, limit);
      } catch (error) {
        if (error instanceof RpcError) throw error;
        throw new RpcError("invalid_argument", "a message is not zstd data", { cause: error });
      }
    },
  };
}

const MAGIC = 0xfd2fb528;
/** The first of the sixteen magic numbers of skippable frames. */
const SKIPPABLE = 0x184d2a50;
const BLOCK_HEAD_BYTES = 3;
const CHECKSUM_BYTES = 4;
/** Sizes in bytes of optional fields in a zstd frame header, by the value of their flag. */
const DICTIONARY_BYTES: readonly number[] = [0, 1, 2, 4];
const SIZE_BYTES: readonly number[] = [0, 2, 4, 8];
const RUN_BLOCK = 1;
const RESERVED_BLOCK = 3;

/** Returns true if the bytes consist of complete zstd frames only (RFC 8878 §3.1). */
export function isCompleteZstd(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  while (at >= 0 && at < bytes.length) at = endOfFrame(view, at);
  return at === bytes.length && at > 0;
}

/** Returns the position after the zstd frame at `start`; -1 if the frame is incomplete. */
function endOfFrame(view: DataView, start: number): number {
  if (start + 8 > view.byteLength) return -1;
  const magic = view.getUint32(start, true);
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) return start + 8 + view.getUint32(start + 4, true);
  if (magic !== MAGIC) return -1;
  // Bits of the flags: 2 for the size of the content size, 1 single segment, 2 others, 1 checksum, 2 for the size of
  // the dictionary id.
  const flags = view.getUint8(start + 4);
  const isSingle = (flags & 0x20) !== 0;
  const sizeBytes = flags >> 6 === 0 && isSingle ? 1 : (SIZE_BYTES[flags >> 6] as number);
  let at = start + 5 + (isSingle ? 0 : 1) + (DICTIONARY_BYTES[flags & 3] as number) + sizeBytes;
  for (let isLast = false; !isLast; ) {
    if (at + BLOCK_HEAD_BYTES > view.byteLength) return -1;
    // Bits of a block header: 1 last block, 2 type, 21 size.
    const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const type = (head >> 1) & 3;
    if (type === RESERVED_BLOCK) return -1;
    isLast = (head & 1) !== 0;
    at += BLOCK_HEAD_BYTES + (type === RUN_BLOCK ? 1 : head >> 3);
  }
  return at + ((flags & 4) === 0 ? 0 : CHECKSUM_BYTES);
}

/** Passes bytes through a zlib stream and yields the result. Leaving the loop destroys the stream. */
async function through(
  stream: ZlibStream,
  bytes: Uint8Array,
  maxBytes: number,
  hold?: (bytes: number) => void,
  limit?: SizeLimit,
): Promise<Uint8Array> {
  const gathered = new Gathered();
  stream.end(bytes);
  for await (const piece of stream) {
    if (gathered.length + piece.length > maxBytes) throw messageTooLarge(maxBytes, limit);
    hold?.(piece.length);
    gathered.append(piece);
  }
  return gathered.take(gathered.length);
}

/**
 * Returns `node:zlib` without an import, which bundlers for pages would have to resolve; undefined in other runtimes.
 */
function runtimeLibrary(): Partial<ZstdLibrary> | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  return process?.getBuiltinModule?.("node:zlib") as Partial<ZstdLibrary> | undefined;
}
