import { invalidOption, QuicError } from "./errors.js";
import type { SocketAddress } from "./session.js";

/** Request of a client, before there is a session (WebTransport over HTTP/3 §3.2). */
export interface WebTransportRequest {
  /** Host and port as the client names the server. */
  readonly authority: string;
  /** Path and query, from "/". */
  readonly path: string;
  /** The web origin of the page, where a browser asks (RFC 6454). */
  readonly origin: string | undefined;
  /** Header fields by lower-case name; repeated ones joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  /** Subprotocols offered, in the client's order of preference. */
  readonly protocols: readonly string[];
  readonly remoteAddress: SocketAddress;
  /** Aborts when the client leaves before it is answered. */
  readonly signal: AbortSignal;
}

/** How a server answers. */
export interface WebTransportAnswer {
  /** 200, the default, grants the session; 300 to 599 refuses it. */
  readonly status?: number;
  /** One of the request's `protocols`. */
  readonly protocol?: string;
  readonly headers?: HeaderFields;
}

/** Header fields to send. */
export type HeaderFields = Readonly<Record<string, string>> | Iterable<readonly [name: string, value: string]>;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
/** Fields of one connection have no place in HTTP/3 (RFC 9114 §4.2); the others are the engine's own. */
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

/** Name and value on alternate lines, as the engine takes them. */
export function encodeFields(fields: HeaderFields = {}): string {
  const pairs = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  return pairs
    .map(([given, value]) => {
      const name = given.toLowerCase();
      if (!TOKEN.test(name) || RESERVED.has(name)) {
        throw invalidOption(`headers: ${JSON.stringify(given)} cannot be sent`);
      }
      if (typeof value !== "string" || !VALUE.test(value)) {
        throw invalidOption(`headers: the value of ${JSON.stringify(given)} must be a string of printable ASCII`);
      }
      return `${name}\n${value.trim()}`;
    })
    .join("\n");
}

/** The engine's flat list as a map. */
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

/** Subprotocol names on lines of their own; the rules are those of W3C WebTransport §6.2. */
export function encodeProtocols(protocols: readonly string[] = []): string {
  if (new Set(protocols).size !== protocols.length) throw invalidOption("protocols must not repeat a name");
  for (const name of protocols) {
    if (!/^[\x20-\x7e]{1,512}$/.test(name)) {
      throw invalidOption(`protocols: ${JSON.stringify(name)} must be 1 to 512 printable ASCII characters`);
    }
  }
  return protocols.join("\n");
}

/** Throws when an answer does not fit its request. */
export function checkAnswer(request: WebTransportRequest, { status = 200, protocol }: WebTransportAnswer): void {
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
