import { invalidOption, QuicError } from "./errors.js";
import type { SocketAddress } from "./session-handler.js";

/** A client's request for a WebTransport session (WebTransport over HTTP/3 §3.2). */
export interface WebTransportRequest {
  /** Host and port that the client requested. */
  readonly authority: string;
  /** Path and query, starting with "/". */
  readonly path: string;
  /** Web origin of the page, if a browser sent the request (RFC 6454). */
  readonly origin: string | undefined;
  /** Header fields by lower-case name. The values of repeated fields are joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  /** Subprotocols that the client offers, in its order of preference. */
  readonly protocols: readonly string[];
  readonly remoteAddress: SocketAddress;
  /** Signal that fires if the client disconnects before the response. */
  readonly signal: AbortSignal;
}

/** Response to a `WebTransportRequest`. */
export interface WebTransportResponse {
  /** HTTP status: 200 accepts the session, 300 to 599 refuses it. Default 200. */
  readonly status?: number;
  /** Selected subprotocol, one of the request's `protocols`. Default: none. */
  readonly protocol?: string;
  readonly headers?: HeaderFields;
}

/** Header fields to send. */
export type HeaderFields = Readonly<Record<string, string>> | Iterable<readonly [name: string, value: string]>;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
/**
 * Header fields that a request must not set: those that HTTP/3 forbids (RFC 9114 §4.2), and those that the engine sets
 * itself.
 */
const RESERVED: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "host",
  "wt-available-protocols",
  "wt-protocol",
]);

/** Serialises header fields for the native engine: names and values on alternate lines. */
export function encodeFields(fields: HeaderFields = {}): string {
  const pairs = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  return pairs
    .map(([givenName, value]) => {
      const name = givenName.toLowerCase();
      if (!TOKEN.test(name) || RESERVED.has(name)) {
        throw invalidOption(`headers: ${JSON.stringify(givenName)} cannot be sent`);
      }
      if (typeof value !== "string" || !VALUE.test(value)) {
        throw invalidOption(`headers: the value of ${JSON.stringify(givenName)} must be a string of printable ASCII`);
      }
      return `${name}\n${value.trim()}`;
    })
    .join("\n");
}

/** Converts the native engine's list of alternating names and values to a map. */
export function decodeFields(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = flat[at] as string;
    const value = flat[at + 1] as string;
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return fields;
}

/**
 * Serialises subprotocol names for the native engine, one per line. Throws `QuicError` for names that W3C WebTransport
 * §6.2 forbids.
 */
export function encodeProtocols(protocols: readonly string[] = []): string {
  if (new Set(protocols).size !== protocols.length) throw invalidOption("protocols must not repeat a name");
  for (const name of protocols) {
    if (!/^[\x20-\x7e]{1,512}$/.test(name)) {
      throw invalidOption(`protocols: ${JSON.stringify(name)} must be 1 to 512 printable ASCII characters`);
    }
  }
  return protocols.join("\n");
}

export function checkAnswer(request: WebTransportRequest, { status = 200, protocol }: WebTransportResponse): void {
  if (status !== 200 && !(Number.isInteger(status) && status >= 300 && status <= 599)) {
    throw invalidOption(`onRequest must answer with status 200, or 300 to 599, not ${status}`);
  }
  if (protocol !== undefined && !request.protocols.includes(protocol)) {
    throw new QuicError({
      source: "usage",
      code: "ERR_QUIC_INVALID_OPTION",
      message: `onRequest chose the subprotocol ${JSON.stringify(protocol)}, which the client did not offer`,
    });
  }
}
