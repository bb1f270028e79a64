import type { X509Certificate } from "node:crypto";
import type { Metadata } from "@quicrpc/core";
import type { Proof } from "@quicrpc/core/proof";

/** Transport of a session: the name of a built-in transport, or the name of a custom transport provider. */
export type TransportKind = "quic" | "webtransport" | "tcp" | "tls" | "unix" | "websocket" | "http" | (string & {});

/** A client that has connected. `authenticate` decides whether it gets a session. */
export interface Peer {
  /** Transport of the connection. */
  readonly transport: TransportKind;
  /** URL of the listener that accepted the client's connection. */
  readonly listener: string;
  /**
   * Address of the client. Behind a trusted balancer, the address in the PROXY protocol header. Undefined for a Unix
   * socket.
   */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Header fields of the client's HTTP request. Empty unless the client uses HTTP, WebSocket or WebTransport. */
  readonly headers: Headers;
  /** Path and query of the client's HTTP request. Undefined for transports without HTTP requests. */
  readonly path: string | undefined;
  /**
   * Origin of the web page that sent the request, as the browser reports it. Other programs can send any value, or
   * none.
   */
  readonly origin: string | undefined;
  /**
   * Value of the client's option `credentials`, or undefined if the client sent none. Over HTTP, the token in
   * `authorization: Bearer`. The value is read from the session's first message when this property is first used, and
   * may have up to `limits.maxGreetingBytes`. A client that sends nothing within half of `limits.maxHandshakeMs` has no
   * credentials. Rejects with an `RpcError`, which `authenticate` may rethrow, if the first message is malformed or the
   * client has disconnected. Also rejects after `authenticate` has settled, because the server then discards the value.
   * With early data (`earlyData`) the value may be a replay.
   */
  readonly credentials: Promise<string | undefined>;
  /**
   * Value of the client's option `metadata`, which the client sends together with its credentials. Empty if the client
   * sent none. The server does not verify it.
   */
  readonly metadata: Promise<Metadata>;
  /**
   * Public key that the client has proven to possess (the client's option `proof`). Undefined if the client offers no
   * proof, and over HTTP. The server requests the proof when this property is first used, which takes a round trip.
   * Rejects with an `RpcError`, which `authenticate` may rethrow, if the proof is invalid or late.
   */
  readonly proof: Promise<Proof | undefined>;
  /** TLS certificate that the client has proven to own (mutual TLS). Undefined if the client presented none. */
  readonly certificate: X509Certificate | undefined;
  /**
   * True if the client may have sent calls in 0-RTT data, which an attacker can replay (RFC 8446 §8). The handshake has
   * not yet proven that the client is present and has this address.
   */
  readonly earlyData: boolean;
  /**
   * Resolves when the handshake is complete. With early data, `authenticate` is called before that and may wait for
   * this promise. Rejects if the handshake fails.
   */
  readonly handshake: Promise<void>;
}

/** Creates a `Headers` object. Skips invalid fields, because a peer may send any text and `Headers` would throw. */
export function headersOf(fields: Iterable<readonly [string, string]>): Headers {
  const latin1 = /^[\t\x20-\x7e\x80-\xff]*$/;
  const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
  const headers = new Headers();
  for (const [name, value] of fields) if (token.test(name) && latin1.test(value)) headers.append(name, value);
  return headers;
}

/** Returns the path of a request target (RFC 9112 §3.2) without its query. */
export function pathOf(target: string | undefined): string {
  return (target ?? "/").replace(/\?.*$/s, "");
}

/** Returns a name of the peer for error messages: its address, or the listener's URL for a Unix socket. */
export function peerAddressOf({ remoteAddress, listener }: Peer): string {
  if (remoteAddress === undefined) return listener;
  const { host, port } = remoteAddress;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
