import type { X509Certificate } from "node:crypto";
import type { Metadata } from "@quicrpc/core";
import type { Proof } from "@quicrpc/core/proof";

/** Transport of a session: a built-in one, or the name of a provider's own. */
export type TransportKind = "quic" | "webtransport" | "tcp" | "tls" | "unix" | "websocket" | "http" | (string & {});

/** A client that has connected, and how: `authenticate` decides by it. */
export interface Peer {
  /** The transport that it came by. */
  readonly transport: TransportKind;
  /** The URL of the listener it came to. */
  readonly listener: string;
  /** The client's address, by the PROXY protocol where a balancer is trusted. Undefined over a Unix socket. */
  readonly remoteAddress: { readonly host: string; readonly port: number } | undefined;
  /** Header fields of the HTTP request, over WebSocket and WebTransport; otherwise empty. */
  readonly headers: Headers;
  /** The path and query of the HTTP request. */
  readonly path: string | undefined;
  /** The page the request came from, as its browser says; programs send what they like, or nothing. */
  readonly origin: string | undefined;
  /**
   * The client's option `credentials`, over any transport; undefined where it sent none. Over HTTP the token of `authorization: Bearer`. Read from its greeting when it is asked for,
   * at most `limits.maxGreetingBytes`; a client that has said nothing within half of `limits.maxHandshakeMs` has sent none. Rejects
   * with an `RpcError`, which `authenticate` may pass on, where the greeting is malformed or the client is gone, and once
   * `authenticate` has settled: it is not kept. Of early data (`earlyData`) it may be a recording.
   */
  readonly credentials: Promise<string | undefined>;
  /** The client's option `metadata`, read with its credentials; empty where it sent none. Nobody has proven it. */
  readonly metadata: Promise<Metadata>;
  /**
   * The key that the client has proven to have, by its option `proof`. Undefined where it proves nothing, and over HTTP. Asked for when it is looked at, which
   * takes a round trip; rejects with an `RpcError`, which `authenticate` may pass on, where the proof does not hold or comes too late.
   */
  readonly proof: Promise<Proof | undefined>;
  /** The certificate that it has proven to own (mutual TLS). */
  readonly certificate: X509Certificate | undefined;
  /**
   * Whether it may have sent calls in 0-RTT data, which an attacker can replay (RFC 8446 §8). It is not yet proven then that
   * the peer is there, nor that the address is its own.
   */
  readonly earlyData: boolean;
  /**
   * Fulfils when the handshake is complete: with early data later than `authenticate` is called, which may wait for it.
   * Rejects when it fails.
   */
  readonly handshake: Promise<void>;
}

/** Without the fields that `Headers` would throw at: a peer may send any text. */
export function headersOf(fields: Iterable<readonly [string, string]>): Headers {
  const latin1 = /^[\t\x20-\x7e\x80-\xff]*$/;
  const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
  const headers = new Headers();
  for (const [name, value] of fields) if (token.test(name) && latin1.test(value)) headers.append(name, value);
  return headers;
}

/** The path of a request's target, without the query. */
export function pathOf(target: string | undefined): string {
  return (target ?? "/").replace(/\?.*$/s, "");
}

/** The name of a peer in errors: its address; over a Unix socket, the listener it came to. */
export function addressOf({ remoteAddress, listener }: Peer): string {
  if (remoteAddress === undefined) return listener;
  const { host, port } = remoteAddress;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
