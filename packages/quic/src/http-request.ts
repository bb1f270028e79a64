import { encodeFields, type HeaderFields } from "./web-transport-request.js";
import type { QuicSession } from "./session.js";
import type { QuicStream } from "./stream.js";

const NOTHING = new Uint8Array(0);

/** A client's request of plain HTTP/3 (RFC 9114 §4), and the means to answer it: once, by `respond`. */
export class HttpRequest {
  readonly method: string;
  /** Host and port as the client names the server. */
  readonly authority: string;
  /** Path and query, from "/"; "*" of some requests with the method OPTIONS. */
  readonly path: string;
  /** Header fields in the client's order, by lower-case names. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The connection that it came by. */
  readonly session: Pick<QuicSession, "remoteAddress" | "localAddress" | "peerCertificate">;
  /**
   * The request's body, and after `respond` the answer's. A client that cancels resets or stops it. Error codes are those of HTTP/3 (RFC
   * 9114 §8.1).
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
    this.fields = flat.flatMap((name, at): [string, string][] =>
      at % 2 === 0 ? [[name, flat[at + 1] as string]] : [],
    );
  }

  /**
   * Begins the answer, and ends it where `end` is true; `stream.write` sends more of its body. Returns false above the high-water mark, as
   * `stream.write` does. Throws `QuicError` for fields that HTTP/3 cannot send.
   */
  respond(status: number, fields: HeaderFields = {}, body: Uint8Array = NOTHING, end = false): boolean {
    return this.stream.respond(status, encodeFields(fields), body, end);
  }
}
