import type { X509Certificate } from "node:crypto";
import type { Metadata } from "@quicrpc/core";
import type { Proof } from "@quicrpc/core/proof";

/** Transport of a session: a built-in one, or a provider's own name. */
export type TransportKind = "quic" | "webtransport" | "tcp" | "tls" | "unix" | "websocket" | "http" | (string & {});

/** A client that has connected. `authenticate` decides whether it gets a session. */
export interface Peer {
  /** Transport of the connection. */
  readonly transport: TransportKind;
  /** URL of the listener that accepted it. */
  readonly listener: string;
  /**
   * Address of the client. With a trusted balancer, the address from the PROXY protocol. Undefined for a Unix socket.
   */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Header fields of the HTTP request for WebSocket and WebTransport; otherwise empty. */
  readonly headers: Headers;
  /** Path and query of the HTTP request. */
  readonly path: string | undefined;
  /** Page that sent the request, as reported by the browser. Programs can send any value, or none. */
  readonly origin: string | undefined;
  /**
   * Value of the client's option `credentials`, over any transport, or undefined if it sent none. Over HTTP, the token
   * of `authorization: Bearer`. It is read from the greeting on first use, up to `limits.maxGreetingBytes`. A client
   * that sends nothing within half of `limits.maxHandshakeMs` has no credentials. Rejects with an `RpcError`, which
   * `authenticate` may rethrow, if the greeting is malformed or the client has disconnected, and after `authenticate`
   * has settled, because it is not kept. With early data (`earlyData`) it may be a replay.
   */
  readonly credentials: Promise<string | undefined>;
  /**
   * Value of the client's option `metadata`, read together with its credentials; empty if it sent none. It is not
   * verified.
   */
  readonly metadata: Promise<Metadata>;
  /**
   * Key that the client has proven to possess (its option `proof`). Undefined without a proof, and over HTTP. The proof
   * is requested on first use, which takes a round trip. Rejects with an `RpcError`, which `authenticate` may rethrow,
   * if the proof is invalid or late.
   */
  readonly proof: Promise<Proof | undefined>;
  /** Certificate that the client has proven to own (mutual TLS). */
  readonly certificate: X509Certificate | undefined;
  /**
   * True if it may have sent calls in 0-RTT data, which an attacker can replay (RFC 8446 §8). The client's presence and
   * address are then not yet proven.
   */
  readonly earlyData: boolean;
  /**
   * Fulfils when the handshake is complete. With early data, `authenticate` is called earlier and may wait for it.
   * Rejects if the handshake fails.
   */
  readonly handshake: Promise<void>;
}

/** Creates `Headers` and skips invalid fields, for which `Headers` would throw: a peer may send any text. */
export function headersOf(fields: Iterable<readonly [string, string]>): Headers {
  const latin1 = /^[\t\x20-\x7e\x80-\xff]*$/;
  const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
  const headers = new Headers();
  for (const [name, value] of fields) if (token.test(name) && latin1.test(value)) headers.append(name, value);
  return headers;
}

/** Returns the path of a request target without its query. */
export function pathOf(target: string | undefined): string {
  return (target ?? "/").replace(/\?.*$/s, "");
}

/** Returns the name of a peer for errors: its address, or the listener's URL for a Unix socket. */
export function peerAddressOf({ remoteAddress, listener }: Peer): string {
  if (remoteAddress === undefined) return listener;
  const { host, port } = remoteAddress;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
