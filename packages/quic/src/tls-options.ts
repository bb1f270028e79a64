import { invalidOption } from "./errors.js";
import { packFields } from "./native.js";

/** A certificate chain and its private key, both PEM. */
export interface CertificateOptions {
  /**
   * Certificate chain in PEM: the server's or client's own certificate first, then intermediate certificates. Default:
   * none.
   */
  cert: string | Uint8Array;
  /** Private key of the first certificate in the chain, in PEM. Default: none. */
  key: string | Uint8Array;
}

/**
 * Certificates that a client trusts, and its own certificate. Without `ca` and `serverCertificateHashes`, the client
 * trusts the system's root certificates.
 */
export interface ClientTlsOptions extends Partial<CertificateOptions> {
  /**
   * Root certificates to trust instead of the system's: PEM, one or more certificates. Default: the system's root
   * certificates.
   */
  ca?: string | Uint8Array;
  /**
   * SHA-256 hashes of the server certificates to trust, each over the certificate's DER encoding (W3C WebTransport
   * §6.10). No root certificates are trusted, and the server name is not checked. The certificate must have an ECDSA
   * P-256 key, be valid now, and for at most 14 days in total. Default: none.
   */
  serverCertificateHashes?: { algorithm: "sha-256"; value: ArrayBuffer | ArrayBufferView }[];
}

/** One certificate of a server, and the server names that use it. */
export interface ServerCertificateOptions extends CertificateOptions {
  /**
   * Server names (SNI) for which the certificate is used. `*.` matches one label. Default: the DNS names in the
   * certificate.
   */
  names?: string[];
}

/** Options for requesting a certificate from clients (mutual TLS). */
export interface ClientCertificateOptions {
  /** Authorities that may have issued the client's certificate: PEM, one or more certificates. */
  ca: string | Uint8Array;
  /**
   * If true, clients without a certificate are refused. If false, such a client's session has no `peerCertificate`.
   * Default true.
   */
  required?: boolean;
}

/** Certificates of a server, and options for the certificates of its clients. */
export interface ServerTlsOptions {
  /**
   * One certificate, or several of which one is selected by the server name that the client requests. The first is used
   * for all other names.
   */
  tls: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /** Requests a certificate from clients (mutual TLS). Default: not requested. */
  clientCertificates?: ClientCertificateOptions;
  /**
   * Lets clients resume sessions and send data before the handshake is complete (0-RTT). `onSession` is then called
   * before the end of the handshake. Streams opened until then have `early` set, because an attacker who recorded them
   * can send them again. This process accepts each session ticket once, and stores 4,096 tickets. Default false.
   */
  earlyData?: boolean;
  /**
   * Lets clients resume sessions of another process: secrets of 32 bytes, the same in all processes. The first key
   * encrypts session tickets and all keys decrypt them, so that `updateTls` can rotate the keys. Cannot be combined
   * with `earlyData`, which requires that each ticket is used only once. Default: tickets are valid in this process
   * only.
   */
  ticketKeys?: readonly Uint8Array[];
}

const REQUEST_CLIENT_CERTIFICATE = 1;
const REQUIRE_CLIENT_CERTIFICATE = 2;
const EARLY_DATA = 4;
const TICKET_KEY_BYTES = 32;
const EMPTY = new Uint8Array(0);

/** Serialises a server's TLS options for the native engine (native/src/quic/tls/server.rs). */
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

/** Serialises a client's TLS options for the native engine (native/src/quic/tls/client.rs). */
export function encodeClientTls(alpn: readonly string[], tls: ClientTlsOptions = {}): Uint8Array {
  const { cert, key } = tls;
  if ((cert === undefined) !== (key === undefined)) throw invalidOption("tls.cert and tls.key must be passed together");
  const identity = cert === undefined || key === undefined ? [] : [toPem(cert, "tls.cert"), toPem(key, "tls.key")];
  return packFields([encodeAlpn(alpn), ...encodeTrust(tls), ...identity]);
}

/** Converts PEM text to bytes. Returns bytes unchanged. Throws `QuicError` for any other value of the option `name`. */
function toPem(value: string | Uint8Array, name: string): Uint8Array {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof Uint8Array) return value;
  throw invalidOption(`${name} must be PEM, as a string or a Uint8Array`);
}

/** Serialises protocol names in the TLS encoding: each is preceded by its length in one byte (RFC 7301 §3.1). */
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

/**
 * Serialises the trusted certificates. Returns a number and its data: 0 for system roots, 1 for PEM roots, 2 for
 * concatenated SHA-256 hashes.
 */
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
