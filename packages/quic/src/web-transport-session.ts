import type { Datagrams } from "./datagrams.js";
import type { Engine } from "./engine.js";
import { QuicSession } from "./session.js";

/** Fields of the HTTP request and response that opened a session. */
export interface WebTransportHandshake {
  /** Host and port that the client requested. */
  readonly authority: string;
  /** Path and query, starting with "/". */
  readonly path: string;
  /** Negotiated subprotocol, or "" if there is none. */
  readonly protocol: string;
  /**
   * Header fields that the peer sent, by lower-case name: on a server those of the request, on a client those of the
   * response.
   */
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * A WebTransport session over HTTP/3, on a client or a server. It has the methods and W3C members of `QuicSession`.
 * `close` ends only this session; other sessions on the same connection continue.
 */
export class WebTransportSession extends QuicSession implements WebTransportHandshake {
  readonly authority: string;
  readonly path: string;
  readonly protocol: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Always "supports-unreliable", because every session can send datagrams (W3C WebTransport §6.4). */
  readonly reliability = "supports-unreliable" as const;

  /** @internal */
  constructor(engine: Engine, handle: number, opening: WebTransportHandshake, datagrams?: Datagrams) {
    super(engine, handle, datagrams);
    this.authority = opening.authority;
    this.path = opening.path;
    this.protocol = opening.protocol;
    this.headers = opening.headers;
  }

  /** Asks the peer to finish the session. The peer's `draining` resolves. */
  drain(): void {
    this.engine.kick();
    this.engine.native.drainSession(this.handle);
  }
}
