import type { Limits } from "@quicrpc/core";
import type { Credentials, UnsharedBytes } from "@quicrpc/core/transport";
import type { ContentCoding } from "../protocol/compression.js";
import type { HttpCodec } from "./codec.js";

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

/** Options that a `fetch` gets. */
export interface FetchInit {
  readonly method: "GET" | "POST" | "HEAD" | "PATCH" | "DELETE";
  readonly headers: Headers;
  readonly body?: UnsharedBytes | ReadableStream<Uint8Array>;
  readonly signal: AbortSignal;
  /** Redirects are not followed: a POST request would become a GET request. One that streams its body fails with them. */
  readonly redirect: "manual" | "error";
  readonly duplex?: "half";
  /** Set for a request that streams its body: with `redirect: "error"` Node keeps no copy of all that was sent. */
  readonly window?: null;
}

/**
 * Requests that a `fetch` can stream: "none"; "half", whose answer begins when the request has ended, which is enough for client streams;
 * "full", with both at once, as duplex calls need.
 */
export type Uploads = "none" | "half" | "full";

/** Options of calls over HTTP. */
export interface HttpOptions {
  /** The function that makes the requests: `http2Fetch(connect, { ca })`, with `connect` of `node:http2`, is HTTP/2 in Node. Default: the platform's. */
  readonly fetch?: Fetch | undefined;
  /** Requests that `fetch` can stream. Default: "full" in Node and Deno, what the browser says of itself elsewhere. */
  readonly uploads?: Uploads | undefined;
  /** How messages are written: `plainJson` for servers of the Connect protocol that know no MessagePack. Default: MessagePack. */
  readonly codec?: HttpCodec | undefined;
  /** Calls of `readOnly` methods are GET requests, which caches may answer, where their URL does not get too long. Default false. */
  readonly get?: boolean | undefined;
  /** A token, or a function that returns one, for each request: it goes as `authorization: Bearer …`. Default: none. */
  readonly credentials?: Credentials | undefined;
  /** Header fields of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Compresses messages that are sent, as by `{ algorithms: [zstd, gzip] }`, from `minBytes` (1024) on, by the first of them, and asks for streams in any. One that the runtime
   * lacks is passed over. Answers of one message `fetch` itself decompresses. Default: none.
   */
  readonly compression?:
    | { readonly algorithms: readonly (ContentCoding | undefined)[]; readonly minBytes?: number }
    | undefined;
  /** `maxFrameBytes` is the largest message, and `maxMetadataBytes` the most of metadata. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits> | undefined;
}
