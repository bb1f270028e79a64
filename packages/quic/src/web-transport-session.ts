import type { Datagrams } from "./datagrams.js";
import type { Engine } from "./engine.js";
import { QuicSession } from "./session.js";

/** HTTP request and response fields with which the session was opened. */
export interface WebTransportHandshake {
  /** Host and port that the client requested. */
  readonly authority: string;
  /** Path and query, starting with "/". */
  readonly path: string;
  /** Negotiated subprotocol, or "". */
  readonly protocol: string;
  /** Header fields of the peer by lower-case name: the request's on a server, the response's on a client. */
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * A WebTransport session over HTTP/3, on either side. It has the direct interface and the W3C members of `QuicSession`.
 * `close` ends only this session, not the others on its connection.
 */
export class WebTransportSession extends QuicSession implements WebTransportHandshake {
  readonly authority: string;
  readonly path: string;
  readonly protocol: string;
  readonly headers: ReadonlyMap<string, string>;
  /** W3C WebTransport §6.4. */
  readonly reliability = "supports-unreliable" as const;

  /** @internal */
  constructor(engine: Engine, handle: number, opening: WebTransportHandshake, datagrams?: Datagrams) {
    super(engine, handle, datagrams);
    this.authority = opening.authority;
    this.path = opening.path;
    this.protocol = opening.protocol;
    this.headers = opening.headers;
  }

  /** Asks the peer to finish the session: its `draining` fulfils. */
  drain(): void {
    this.engine.kick();
    this.engine.native.drainSession(this.handle);
  }
}
