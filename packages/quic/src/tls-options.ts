import { invalidOption } from "./errors.js";
import { packFields } from "./native.js";

/** A certificate chain and its private key, both PEM. */
export interface CertificateOptions {
  /** The certificate chain in PEM: the leaf first, then intermediates. Default: none. */
  cert: string | Uint8Array;
  /** The private key of the first certificate, in PEM. Default: none. */
  key: string | Uint8Array;
}

/**
 * Trusted certificates of a client, and its own certificate. Without `ca` and `serverCertificateHashes` it trusts the
 * system's roots.
 */
export interface ClientTlsOptions extends Partial<CertificateOptions> {
  /** Trust these roots only: PEM, one or more certificates. Default: the system's roots. */
  ca?: string | Uint8Array;
  /**
   * Trust these leaf certificates only, by the SHA-256 of their DER encoding (W3C WebTransport §6.10). Each must have an
   * ECDSA P-256 key, be valid now, and for at most 14 days altogether. The server name is not checked. Default: none.
   */
  serverCertificateHashes?: { algorithm: "sha-256"; value: ArrayBuffer | ArrayBufferView }[];
}

/** One of a server's certificates. */
export interface ServerCertificateOptions extends CertificateOptions {
  /**
   * Server names that the certificate is for (SNI). `*.` matches one label. Default: the DNS names in the certificate.
   */
  names?: string[];
}

/** Asks clients for a certificate (mutual TLS). */
export interface ClientCertificateOptions {
  /** Authorities that may have issued the certificate: PEM, one or more certificates. */
  ca: string | Uint8Array;
  /** Whether a client without a certificate is refused. If not, its session has no `peerCertificate`. Default true. */
  required?: boolean;
}

/** Certificates of a server, and the clients that it accepts. */
export interface ServerTlsOptions {
  /**
   * One certificate, or several that are chosen by the requested server name. The first is used for all other names.
   */
  tls: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /** Requests a certificate from clients (mutual TLS). Default: not requested. */
  clientCertificates?: ClientCertificateOptions;
  /**
   * Lets clients resume sessions and send data before the handshake is complete (0-RTT). `onSession` is then called
   * before the end of the handshake. Streams opened until then have `early` set: an attacker who recorded them can send
   * them again. This process accepts a ticket once, and keeps 4,096 tickets. Default false.
   */
  earlyData?: boolean;
  /**
   * Lets clients resume sessions of another process: secrets of 32 bytes, the same in all processes. The first key
   * encrypts tickets and all keys decrypt them, so that you can rotate keys with `updateTls`. Cannot be combined with
   * `earlyData`, which requires each ticket to be used once. Default: tickets are valid in this process only.
   */
  ticketKeys?: readonly Uint8Array[];
}

const REQUEST_CLIENT_CERTIFICATE = 1;
const REQUIRE_CLIENT_CERTIFICATE = 2;
const EARLY_DATA = 4;
const TICKET_KEY_BYTES = 32;
const EMPTY = new Uint8Array(0);

/** Serialises a server's TLS options for native/src/quic/tls/server.rs. */
export function encodeServerTls(alpn: readonly string[], options: ServerTlsOptions): Uint8Array {
  const { tls, clientCertificates, earlyData = false, ticketKeys = [] } = options;
  if (earlyData && ticketKeys.length > 0) {
    throw invalidOption("earlyData and ticketKeys cannot be combined: a shared ticket could be used more than once");
  }
  const certificates = Array.isArray(tls)
    ? (tls as readonly ServerCertificateOptions[])
    : [tls as ServerCertificateOptions];
  let flags = earlyData ? EARLY_DATA : 0;
  if (clientCertificates !== undefined) {
    flags |= REQUEST_CLIENT_CERTIFICATE;
    if (clientCertificates.required ?? true) flags |= REQUIRE_CLIENT_CERTIFICATE;
  }
  return packFields([
    encodeAlpn(alpn),
    Uint8Array.of(flags),
    clientCertificates === undefined ? EMPTY : toPem(clientCertificates.ca, "clientCertificates.ca"),
    joinTicketKeys(ticketKeys),
    ...certificates.flatMap(({ names = [], cert, key }) => [
      new TextEncoder().encode(names.join("\n")),
      toPem(cert, "tls.cert"),
      toPem(key, "tls.key"),
    ]),
  ]);
}

function joinTicketKeys(keys: readonly Uint8Array[]): Uint8Array {
  for (const key of keys) {
    if (!(key instanceof Uint8Array) || key.length !== TICKET_KEY_BYTES) {
      throw invalidOption(`each of ticketKeys must be a Uint8Array of ${TICKET_KEY_BYTES} bytes`);
    }
  }
  return Buffer.concat(keys);
}

/** Serialises a client's TLS options for native/src/quic/tls/client.rs. */
export function encodeClientTls(alpn: readonly string[], tls: ClientTlsOptions = {}): Uint8Array {
  const { cert, key } = tls;
  if ((cert === undefined) !== (key === undefined)) throw invalidOption("tls.cert and tls.key must be passed together");
  const identity = cert === undefined || key === undefined ? [] : [toPem(cert, "tls.cert"), toPem(key, "tls.key")];
  return packFields([encodeAlpn(alpn), ...encodeTrust(tls), ...identity]);
}

/** Returns PEM text or bytes as bytes. */
function toPem(value: string | Uint8Array, name: string): Uint8Array {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof Uint8Array) return value;
  throw invalidOption(`${name} must be PEM, as a string or a Uint8Array`);
}

/** Protocol names in the TLS encoding: each preceded by its length in one byte (RFC 7301 §3.1). */
function encodeAlpn(names: readonly string[]): Uint8Array {
  if (!Array.isArray(names) || names.length === 0) {
    throw invalidOption("alpn must name at least one protocol: QUIC requires one (RFC 9001 §8.1)");
  }
  const wire = names.flatMap((name) => {
    const bytes = Buffer.from(name);
    if (bytes.length === 0 || bytes.length > 255) {
      throw invalidOption(`alpn ${JSON.stringify(name)} must have 1 to 255 bytes`);
    }
    return [Buffer.of(bytes.length), bytes];
  });
  return Buffer.concat(wire);
}

/** Returns the kind of trust and its bytes: 0 system roots, 1 PEM roots, 2 concatenated SHA-256 hashes. */
function encodeTrust({ ca, serverCertificateHashes: hashes }: ClientTlsOptions): [kind: Uint8Array, bytes: Uint8Array] {
  if (ca !== undefined && hashes !== undefined) {
    throw invalidOption("ca and serverCertificateHashes cannot be combined");
  }
  if (ca !== undefined) return [Uint8Array.of(1), toPem(ca, "ca")];
  if (hashes === undefined) return [Uint8Array.of(0), EMPTY];
  if (hashes.length === 0) throw invalidOption("serverCertificateHashes must contain at least one hash");
  const bytes = new Uint8Array(32 * hashes.length);
  for (const [index, { algorithm, value }] of hashes.entries()) {
    const hash = ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : new Uint8Array(value);
    if (algorithm !== "sha-256" || hash.length !== 32) {
      throw invalidOption('serverCertificateHashes must contain { algorithm: "sha-256", value: 32 bytes }');
    }
    bytes.set(hash, 32 * index);
  }
  return [Uint8Array.of(2), bytes];
}
