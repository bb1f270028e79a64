import { RpcError } from "@quicrpc/core";
import { type ByteBody, readBody, type SizeLimit } from "./body.js";

/** A compression algorithm for messages over HTTP. */
export interface ContentCoding {
  readonly name: string;
  compress(bytes: Uint8Array): Promise<Uint8Array>;
  /**
   * Decompresses bytes. Throws `RpcError`: `resource_exhausted` as soon as the result exceeds `maxBytes`,
   * `invalid_argument` if the bytes are malformed.
   *
   * @param hold called with the size of each decompressed piece; if it throws, the decompression ends
   * @param limit name of the limit `maxBytes` in errors. Default: "maxFrameBytes"
   */
  decompress(
    bytes: Uint8Array,
    maxBytes: number,
    hold?: (bytes: number) => void,
    limit?: SizeLimit,
  ): Promise<Uint8Array>;
}

/** Gzip with the platform's streams, which Node, Bun, Deno, workers and browsers have. */
export const gzip: ContentCoding = {
  name: "gzip",
  compress: (bytes) => readBody(through(bytes, new CompressionStream("gzip")), Number.POSITIVE_INFINITY),
  async decompress(bytes, maxBytes, hold, limit) {
    try {
      return await readBody(through(bytes, new DecompressionStream("gzip")), maxBytes, { hold, limit });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw new RpcError("invalid_argument", "a message is not gzip data", { cause: error });
    }
  },
};

function through(bytes: Uint8Array, transform: { readonly readable: unknown; readonly writable: unknown }): ByteBody {
  const writer = (transform.writable as WritableStream<Uint8Array>).getWriter();
  // The readable side reports the error.
  const ignore = (): void => {};
  writer.write(bytes).catch(ignore);
  writer.close().catch(ignore);
  return transform.readable as ByteBody;
}

/**
 * Returns the compression that a header field names, in upper or lower case; undefined for an absent name and for
 * "identity". Throws `RpcError` `unimplemented` for an unknown one.
 */
export function codingNamed(
  name: string | null | undefined,
  known: readonly ContentCoding[],
): ContentCoding | undefined {
  if (name === null || name === undefined) return undefined;
  const lower = name.toLowerCase();
  if (lower === "" || lower === "identity") return undefined;
  const found = known.find((coding) => coding.name === lower);
  if (found !== undefined) return found;
  const names = [...known.map((coding) => coding.name), "identity"].join(", ");
  const remedy = lower === "zstd" ? ": for it the server has to run on Node 22.15, 23.8 or newer" : "";
  throw new RpcError(
    "unimplemented",
    `the compression ${JSON.stringify(name)} is not known here, but ${names}${remedy}`,
  );
}

/**
 * Returns the first compression in an `accept-encoding` list that is in `known`; undefined if there is none, or if
 * "identity" precedes it.
 */
export function acceptedCoding(
  accepted: string | null | undefined,
  known: readonly ContentCoding[],
): ContentCoding | undefined {
  if (accepted === null || accepted === undefined) return undefined;
  for (const entry of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (name === "identity") return undefined;
    const found = known.find((coding) => coding.name === name);
    if (found !== undefined) return found;
  }
  return undefined;
}
