import type { Limits } from "@quicrpc/core";
import type { Credentials, UnsharedBytes } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import type { ErrorDetail } from "../protocol/error-json.js";
import type { NamedDetails } from "../protocol/packed-detail.js";

/** The part of the platform's `fetch` that this package uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

/** Options with which this package calls `fetch`. */
export interface FetchInit {
  readonly method: "GET" | "POST" | "HEAD" | "PATCH" | "DELETE";
  readonly headers: Headers;
  readonly body?: UnsharedBytes | ReadableStream<Uint8Array>;
  readonly signal: AbortSignal;
  /**
   * "manual" for most requests, because following a redirect would turn POST into GET; "error" for a request that
   * streams its body.
   */
  readonly redirect: "manual" | "error";
  readonly duplex?: "half";
  /**
   * Null for a request that streams its body. Together with `redirect: "error"`, it prevents Node from storing the sent
   * body.
   */
  readonly window?: null;
}

/**
 * Which request bodies `fetch` can stream. "none": none. "half": the response begins after the request has ended, which
 * is enough for client streams. "full": both at once, which duplex calls need.
 */
export type Uploads = "none" | "half" | "full";

/** Options of calls over HTTP. */
export interface HttpOptions {
  /**
   * Function that sends requests. For HTTP/2 in Node: `http2Fetch(connect, { ca })`, with `connect` of `node:http2`.
   * Default: the platform's `fetch`.
   */
  readonly fetch?: Fetch | undefined;
  /** Which request bodies `fetch` can stream. Default: "full" in Node and Deno; elsewhere what the browser reports. */
  readonly uploads?: Uploads | undefined;
  /**
   * Encoding of messages. `plainJson` is for servers of the Connect protocol that do not support MessagePack. Default:
   * MessagePack.
   */
  readonly codec?: HttpCodec | undefined;
  /**
   * True to call `readOnly` methods by GET, so that caches may answer them, unless the URL would be too long. Default:
   * false.
   */
  readonly get?: boolean | undefined;
  /**
   * A bearer token, or a function that returns one for each request. It is sent as `authorization: Bearer …`. Default:
   * none.
   */
  readonly credentials?: Credentials | undefined;
  /** Header fields that are added to every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Compression algorithms, such as `{ algorithms: [zstd, gzip] }`. Sent messages of at least `minBytes` bytes
   * (default: 1024) are compressed with the first one; the server may compress streams with any of them. Algorithms
   * that the runtime lacks are skipped. `fetch` itself decompresses single responses. Default: none.
   */
  readonly compression?:
    | { readonly algorithms: readonly (ContentCoding | undefined)[]; readonly minBytes?: number }
    | undefined;
  /**
   * Limits of calls, such as `maxFrameBytes` for a message and `maxMetadataBytes` for metadata. Default:
   * `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits> | undefined;
}

/** An encoding of messages over HTTP. */
export interface HttpCodec {
  /** Name of the codec in content types, such as "json" for `application/json`. */
  readonly name: string;
  /**
   * Returns the codec of a message in this encoding, given its generated codec; undefined if the method has no such
   * message.
   */
  of(codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined;
  /**
   * Finds and decodes the details of an error that a server of this library has sent; undefined if there are none.
   * Default: details in MessagePack.
   */
  readDetails?(details: readonly ErrorDetail[], method: AnyMethod): NamedDetails | undefined;
}

/** The default encoding: MessagePack, by the generated codecs, without a schema at run time. */
export const messagePack: HttpCodec = {
  name: "msgpack",
  of: (codec) => codec,
};
