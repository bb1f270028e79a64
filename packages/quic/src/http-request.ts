import { encodeFields, type HeaderFields } from "./web-transport-request.js";
import type { QuicSession } from "./session.js";
import type { QuicStream } from "./stream.js";

const NOTHING = new Uint8Array(0);

/** Header fields or trailers as they were received: in the peer's order, with lower-case names. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Converts the native engine's list of alternating names and values to pairs. */
export function fieldPairs(flat: readonly string[] = []): HeaderPairs {
  return flat.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, flat[at + 1] as string]] : []));
}

/** A plain HTTP/3 request that a server received (RFC 9114 §4). Answer it once with `respond`. */
export class HttpRequest {
  readonly method: string;
  /** Host and port that the client requested. */
  readonly authority: string;
  /** Path and query, starting with "/", or "*" in some OPTIONS requests. */
  readonly path: string;
  /** Header fields in the client's order, with lower-case names. */
  readonly fields: HeaderPairs;
  /** Connection on which the request arrived. */
  readonly session: Pick<QuicSession, "remoteAddress" | "localAddress" | "peerCertificate">;
  /**
   * Body of the request and, after `respond`, of the response. If the client cancels, it resets or stops this stream.
   * Error codes are those of HTTP/3 (RFC 9114 §8.1).
   */
  readonly stream: QuicStream;

  /** @internal */
  constructor(
    session: QuicSession,
    stream: QuicStream,
    [method, authority, path, flat]: readonly [string, string, string, readonly string[]],
  ) {
    this.session = session;
    this.stream = stream;
    this.method = method;
    this.authority = authority;
    this.path = path;
    this.fields = fieldPairs(flat);
  }

  /**
   * Sends status and header fields of the response, and ends the response if `end` is true. Otherwise send the body
   * with `stream.write`. Returns false above the high-water mark, as `stream.write` does. Throws `QuicError` for fields
   * that HTTP/3 cannot send.
   */
  respond(status: number, fields: HeaderFields = {}, body: Uint8Array = NOTHING, end = false): boolean {
    return this.stream.respond(status, encodeFields(fields), body, end);
  }

  /**
   * Ends the response with trailers, after `respond` and `stream.write`. Throws `QuicError` for fields that HTTP/3
   * cannot send.
   */
  end(trailers: HeaderFields): void {
    this.stream.endWithTrailers(encodeFields(trailers));
  }
}
