import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { type DirectSession, WEBTRANSPORT_STREAM_PROTOCOL, oneStreamTransport } from "@quicrpc/core/transport";
import { attempt, requirePinned, type TransportDialOptions } from "@quicrpc/node/transport";
import { lettingGo } from "./requests.js";
import { containReads, pingWhileAlive, refuseLateStreams } from "./containment.js";
import {
  type FailsClientSession,
  failsError,
  type FailsPackage,
  FAILS_WINDOWS,
  http3Problem,
  loadFails,
  unsupportedVersion,
} from "./package.js";

/** Milliseconds to wait for HTTP/3 before falling back. If UDP is blocked, no error arrives. */
const HTTP3_MS = 1500;

/** The session that `failsTransport()` dials, available as `Session.transport`. */
export interface FailsSession extends DirectSession {
  readonly httpVersion: 2 | 3;
  /** Reason for using HTTP/2, or undefined for HTTP/3 and if HTTP/2 was requested. */
  readonly reason: string | undefined;
}

/**
 * Dials `https://host[:port]/path` with `@fails-components/webtransport`. Uses HTTP/3 if the quiche transport is
 * installed and the server answers, otherwise HTTP/2. `httpVersion` forces one of them.
 */
export async function dialFails(
  url: URL,
  options: TransportDialOptions,
  httpVersion: 2 | 3 | undefined,
): Promise<FailsSession> {
  requireSupported(options);
  const { timeoutMs } = options;
  const fails = await loadFails();
  if (httpVersion === 2) return dialHttp2(fails, url, options, undefined);
  const problem = await http3Problem();
  if (problem !== undefined) {
    if (httpVersion === 3) throw failsError("ERR_FAILS_HTTP3", problem);
    return dialHttp2(fails, url, options, problem);
  }
  if (httpVersion === 3) return dialHttp3(fails, url, options);
  try {
    return await dialHttp3(fails, url, { ...options, timeoutMs: Math.min(timeoutMs ?? HTTP3_MS, HTTP3_MS) });
  } catch (error) {
    return dialHttp2(fails, url, options, `HTTP/3 failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Throws `TypeError` for options that the package would silently ignore. */
function requireSupported({ ca, cert, serverName }: TransportDialOptions): void {
  const given = Object.entries({ ca, cert, serverName }).find(([, value]) => value !== undefined);
  if (given === undefined) return;
  throw new TypeError(
    `failsTransport() does not take the option ${given[0]}: it trusts the system's roots (NODE_EXTRA_CA_CERTS adds to them) or serverCertificateHashes`,
  );
}

function dialHttp2(
  fails: FailsPackage,
  url: URL,
  options: TransportDialOptions,
  reason: string | undefined,
): Promise<FailsSession> {
  return attempt(url, options, (resolve, reject) => {
    const session = new fails.WebTransport(url.href, { ...settings(options), forceReliable: true });
    session.closed.catch(() => {});
    const connection = session.sessionint?.parentobj?.transportInt?.clientInt;
    if (connection === undefined) throw unsupportedVersion();
    pingWhileAlive(connection);
    let cause: unknown;
    let status: number | undefined;
    connection.on("error", (error) => (cause ??= error));
    onRequest(connection, options.headers, (stream) => {
      containReads(stream);
      stream.once("response", (headers) => (status = headers[":status"]));
    });
    // The package takes any certificate that an authority has signed, whatever its name and hash.
    socketOf(connection).on("secureConnect", function check(this: TLSSocket) {
      try {
        requirePinned(this, options);
      } catch (error) {
        cause = error;
        connection.destroy();
      }
    });
    session.ready
      .catch((error: unknown) => refuse(url, status, error))
      .then(() => {
        if (cause !== undefined) throw cause;
        return transportOf(session, connection, 2, reason, options);
      })
      .then(resolve, (error: unknown) => reject(cause ?? error));
    return () => connection.destroy();
  });
}

async function dialHttp3(fails: FailsPackage, url: URL, options: TransportDialOptions): Promise<FailsSession> {
  if (options.headers !== undefined) throw new TypeError("failsTransport() sends no headers over HTTP/3");
  return attempt(url, options, (resolve, reject) => {
    let session: FailsClientSession | undefined;
    let givenUp = false;
    void fails.quicheLoaded.then(() => {
      if (givenUp) return;
      session = new fails.WebTransport(url.href, { ...settings(options), requireUnreliable: true });
      session.closed.catch(() => {});
      // The package silently uses HTTP/2 if it cannot find quiche.
      if (session.sessionint?.parentobj?.transportInt?.clientInt !== undefined) {
        session.ready.catch(() => {});
        reject(failsError("ERR_FAILS_HTTP3", "HTTP/3 was asked for, and the package took HTTP/2"));
        return;
      }
      const made = session;
      made.ready
        .catch((error: unknown) => refuse(url, undefined, error))
        .then(() => transportOf(made, undefined, 3, undefined, options))
        .then(resolve, reject);
    }, reject);
    return () => {
      givenUp = true;
      session?.sessionint?.parentobj?.transportInt?.clientInt?.destroy();
      session?.close();
    };
  });
}

function settings({ serverCertificateHashes, timeoutMs }: TransportDialOptions): object {
  return {
    ...FAILS_WINDOWS,
    protocols: [WEBTRANSPORT_STREAM_PROTOCOL],
    ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
    ...(timeoutMs !== undefined && { quicConnectTimeout: timeoutMs, webTransportConnectTimeout: timeoutMs }),
  };
}

/** Returns the socket of a connection: Node's proxy object until the connection has ended. */
function socketOf(connection: ClientHttp2Session): TLSSocket {
  return connection.socket as TLSSocket;
}

function transportOf(
  session: FailsClientSession,
  connection: ClientHttp2Session | undefined,
  httpVersion: 2 | 3,
  reason: string | undefined,
  { limits }: TransportDialOptions,
): FailsSession {
  if (session.protocol !== WEBTRANSPORT_STREAM_PROTOCOL) {
    session.close();
    throw failsError("ERR_FAILS_PROTOCOL", `the server does not speak ${WEBTRANSPORT_STREAM_PROTOCOL}`);
  }
  if (session.sessionint !== undefined) refuseLateStreams(session.sessionint);
  const held = connection === undefined ? session : lettingGo(session, connection);
  const timeout = limits?.maxCloseMs === undefined ? {} : { closeTimeoutMs: limits.maxCloseMs };
  return Object.assign(oneStreamTransport(held, "client", timeout), { httpVersion, reason });
}

/** Throws an error with the cause of a failed handshake, which the package's own error does not state. */
function refuse({ href }: URL, status: number | undefined, cause: unknown): never {
  const text =
    status === undefined
      ? `${href} did not take the session (@fails-components/webtransport does not tell why)`
      : `${href} answered with status ${status}`;
  throw Object.assign(failsError("ERR_FAILS_REFUSED", text, { cause, permanent: false }), { status });
}

/** Adds headers to the package's CONNECT request and calls back with its stream. */
function onRequest(
  connection: ClientHttp2Session,
  headers: TransportDialOptions["headers"],
  tell: (stream: ClientHttp2Stream) => void,
): void {
  const request = connection.request.bind(connection);
  connection.request = (own, options) => {
    const stream = request({ ...own, ...lowerCase(headers) }, options);
    tell(stream);
    return stream;
  };
}

function lowerCase(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
