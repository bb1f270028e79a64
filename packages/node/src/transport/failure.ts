import { TransportError } from "@quicrpc/core";

/** Error codes of this package for failures to connect or listen. The codes are listed in docs/error-codes.md. */
export interface NodeErrorCodes {
  /**
   * The connection or listener failed, and the cause has no error code, as with some custom transports. `cause` is the
   * original error.
   */
  readonly ERR_TRANSPORT: "transport";
  /** Over TLS: the server's certificate does not match any of `serverCertificateHashes`. */
  readonly ERR_TLS_CERTIFICATE_HASH_MISMATCH: "tls";
  /**
   * Over TLS: the server's certificate matches a hash in `serverCertificateHashes`, but is not an ECDSA P-256
   * certificate that is valid for at most 14 days.
   *
   * `devCertificate()` creates suitable certificates.
   */
  readonly ERR_TLS_CERTIFICATE_UNSUITABLE: "tls";
  /** Over TLS: the server does not support this library's protocol. */
  readonly ERR_TLS_ALPN: "tls";
}

export interface Attempted {
  readonly action: "connect to" | "listen on";
  readonly url: string;
  /** Advice to show if the failure's code has no advice of its own. Default: none. */
  readonly hint?: string;
}

/**
 * Converts a failure to connect or listen to a `TransportError`, whose `cause` is the original failure. Errors that the
 * application passed in and the signal's abort reason are returned unchanged.
 */
export function transportError(error: unknown, { action, url, hint: other }: Attempted, signal?: AbortSignal): unknown {
  if (error instanceof TypeError || error instanceof TransportError) return error;
  if (signal?.aborted === true && error === signal.reason) return error;
  const { code: errorCode, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: undefined, message: String(error) };
  // OpenSSL's message contains internal numbers around the reason.
  const { reason } = (error ?? {}) as { readonly reason?: unknown };
  const code = typeof errorCode === "string" ? errorCode : ("ERR_TRANSPORT" satisfies keyof NodeErrorCodes);
  const text = `cannot ${action} ${url}: ${code.startsWith("ERR_SSL_") && typeof reason === "string" ? reason : message}`;
  const { status } = (error ?? {}) as { readonly status?: unknown };
  const isAuthority = text.includes("CaUsedAsEndEntity");
  const hint =
    (isAuthority ? AUTHORITY : hintFor(code, action, url)) ?? (typeof status === "number" ? ANSWERED[status] : other);
  return new TransportError({ code, url, message: text, hint, cause: error });
}

export function isMissingEngine(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === MISSING_ENGINE;
}

const MISSING_ENGINE = "ERR_QUIC_NATIVE_MISSING";
const UNTRUSTED =
  "trust the server's authority with the option `ca`, or its certificate with `serverCertificateHashes`; in development: `serverCertificateHashes: [(await devCertificate()).hash]`";
const AUTHORITY =
  "the certificate is an authority's, as made by `openssl req -x509`, and cannot be used by a server: make one with `-addext basicConstraints=critical,CA:FALSE`";
const OTHER_NAME =
  "connect with a name that is in the server's certificate, or pass such a name as the option `advanced.serverName`";
const EXPIRED = "renew the server's certificate, and compare the clocks of both machines";
const OTHER_HASH = "the server has another certificate: pass the hash of its current one";
const OTHER_PROTOCOL = "another program or protocol uses this port: check the URL's scheme and port";
const SILENT = "check host, port and firewalls; if UDP is blocked, listen on wss:// or tls:// too";
const CLIENT_CERTIFICATE = "pass the options `cert` and `key` with a certificate that the server accepts";

const DIALLED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no server listens there: start the server, or check host and port",
  ECONNRESET: OTHER_PROTOCOL,
  ENOENT: "no server listens at this path: start the server, or check the path",
  ENOTFOUND: "the host has no address: check its name",
  EAI_AGAIN: "the name server does not answer: check the network",
  ETIMEDOUT: SILENT,
  ERR_QUIC_HANDSHAKE_TIMEOUT: SILENT,
  ERR_QUIC_REFUSED: "the server is full or is stopping: try again later",
  ERR_QUIC_CERTIFICATE_UNTRUSTED: UNTRUSTED,
  ERR_QUIC_CERTIFICATE_HASH_MISMATCH: OTHER_HASH,
  ERR_TLS_CERTIFICATE_HASH_MISMATCH: OTHER_HASH,
  ERR_QUIC_CERTIFICATE_NAME: OTHER_NAME,
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_NAME,
  HOSTNAME_MISMATCH: OTHER_NAME,
  ERR_QUIC_CERTIFICATE_EXPIRED: EXPIRED,
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: EXPIRED,
  ERR_QUIC_CERTIFICATE_REQUIRED: CLIENT_CERTIFICATE,
  ERR_QUIC_CERTIFICATE_REJECTED: CLIENT_CERTIFICATE,
  ERR_QUIC_ALPN_MISMATCH: OTHER_PROTOCOL,
  ERR_TLS_ALPN: OTHER_PROTOCOL,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: OTHER_PROTOCOL,
  EPROTO: OTHER_PROTOCOL,
};

const NO_SESSIONS =
  "the server accepts no sessions at this URL: compare its scheme, host and path with the server's `urls`; wss:// and ws:// require the server's option `webSocket`, and plain HTTP requires `httpTransport()` of @quicrpc/http";
const NOT_WELCOME =
  "the server, or a proxy in front of it, refuses this client: see `credentials` and `advanced.headers` here, `authenticate` and `advanced.allowedHosts` there";

/** Advice for error messages, by the HTTP status of the response to a session request. */
const ANSWERED: Readonly<Record<number, string>> = {
  400: NO_SESSIONS,
  401: NOT_WELCOME,
  403: NOT_WELCOME,
  404: NO_SESSIONS,
  405: NO_SESSIONS,
  421: NOT_WELCOME,
  426: NO_SESSIONS,
  429: "the server is full: try again later",
  502: "the proxy cannot reach the server behind it",
  503: "the server is full or is stopping: try again later",
};

const LISTENED: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process uses this port or path: stop it, or choose another; port 0 chooses a free one",
  EACCES: "this process lacks permission: choose a port from 1024, or a writable path",
  EADDRNOTAVAIL: "no network interface has this address: listen on 0.0.0.0 or [::], or on an address of this machine",
};

const FOLLOWED =
  "too few sockets of the port are left: stop another process, or add lines ListenDatagram= with ReusePort=yes to the .socket unit. Each process needs one, and with workers one more than workers";

const CLUSTERED =
  "node:cluster only shares TCP ports: call shareUdpPorts({ listen }) in the primary before it forks, or let serve({ workers }) start the workers";

/** Returns true if this process is a worker of node:cluster. Does not load that module. */
function isClustered(): boolean {
  return (process.getBuiltinModule("node:cluster") as unknown as { readonly isWorker: boolean }).isWorker;
}

/** Error codes of OpenSSL and of Node's HTTP parser that are typical for a server that uses another protocol. */
const OTHER_PROTOCOL_CODES = /^(ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$|HPE_)/;

/** OpenSSL's error codes for certificate chains that do not end at a trusted root certificate. */
const UNTRUSTED_CODES = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

function portInUseHint(url: string): string | undefined {
  if (url.startsWith("systemd:")) return FOLLOWED;
  return /^(quic|https):/.test(url) && isClustered() ? CLUSTERED : LISTENED["EADDRINUSE"];
}

function hintFor(code: string, action: Attempted["action"], url: string): string | undefined {
  if (code === MISSING_ENGINE)
    return "use wss:// or tls://, which need no native engine, or HTTP with @quicrpc/http, or install an engine for this platform";
  if (action === "listen on") return code === "EADDRINUSE" ? portInUseHint(url) : LISTENED[code];
  if (OTHER_PROTOCOL_CODES.test(code)) return OTHER_PROTOCOL;
  return UNTRUSTED_CODES.test(code) ? UNTRUSTED : DIALLED[code];
}
