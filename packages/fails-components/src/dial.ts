import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { type DirectSession, WEBTRANSPORT_STREAM_PROTOCOL, oneStreamTransport } from "@quicrpc/core/transport";
import { attempt, requirePinned, type TransportDialOptions } from "@quicrpc/node/transport";
import { destroyingOnClose } from "./requests.js";
import { containReads, pingWhileAlive, refuseLateStreams } from "./containment.js";
import { type FailsClientSession, failsError, FAILS_WINDOWS, loadFails, unsupportedVersion } from "./package.js";

/** Connects to `https://host[:port]/path` over HTTP/2 with `@fails-components/webtransport`. */
export async function dialFails(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  requireSupported(options);
  const fails = await loadFails();
  return attempt(url, options, (resolve, reject) => {
    const session = new fails.WebTransport(url.href, { ...settings(options), forceReliable: true });
    session.closed.catch(() => {});
    const inside = session.sessionint;
    const connection = inside?.parentobj?.transportInt?.clientInt;
    if (inside === undefined || connection === undefined) throw unsupportedVersion();
    refuseLateStreams(inside);
    pingWhileAlive(connection);
    let cause: unknown;
    let status: number | undefined;
    connection.on("error", (error) => (cause ??= error));
    onRequest(connection, options.headers, (stream) => {
      containReads(stream);
      stream.once("response", (headers) => (status = headers[":status"]));
    });
    // The package accepts any certificate that an authority has signed, and ignores its name and the certificate
    // hashes.
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
        return transportOf(session, connection, options);
      })
      .then(resolve, (error: unknown) => reject(cause ?? error));
    return () => connection.destroy();
  });
}

/** Throws `TypeError` for options that the package does not support. They would otherwise have no effect. */
function requireSupported({ ca, cert, serverName }: TransportDialOptions): void {
  const unsupported = Object.entries({ ca, cert, serverName }).find(([, value]) => value !== undefined);
  if (unsupported === undefined) return;
  throw new TypeError(
    `failsTransport() does not take the option ${unsupported[0]}: it trusts the system's roots (NODE_EXTRA_CA_CERTS adds to them) or serverCertificateHashes`,
  );
}

function settings({ serverCertificateHashes, timeoutMs }: TransportDialOptions): object {
  return {
    ...FAILS_WINDOWS,
    protocols: [WEBTRANSPORT_STREAM_PROTOCOL],
    ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
    ...(timeoutMs !== undefined && { quicConnectTimeout: timeoutMs, webTransportConnectTimeout: timeoutMs }),
  };
}

/** Returns the socket of an HTTP/2 connection. It is Node's proxy object until the connection has ended. */
function socketOf(connection: ClientHttp2Session): TLSSocket {
  return connection.socket as TLSSocket;
}

function transportOf(
  session: FailsClientSession,
  connection: ClientHttp2Session,
  { limits }: TransportDialOptions,
): DirectSession {
  if (session.protocol !== WEBTRANSPORT_STREAM_PROTOCOL) {
    session.close();
    throw failsError("ERR_FAILS_PROTOCOL", `the server does not speak ${WEBTRANSPORT_STREAM_PROTOCOL}`);
  }
  const timeout = limits?.maxCloseMs === undefined ? {} : { closeTimeoutMs: limits.maxCloseMs };
  return oneStreamTransport(destroyingOnClose(session, connection), "client", timeout);
}

/** Throws an error with the cause of a failed handshake, because the package's own error does not contain it. */
function refuse({ href }: URL, status: number | undefined, cause: unknown): never {
  const text =
    status === undefined
      ? `${href} refused the session (@fails-components/webtransport reports no reason)`
      : `${href} answered with status ${status}`;
  throw Object.assign(failsError("ERR_FAILS_REFUSED", text, { cause, permanent: false }), { status });
}

/** Adds headers to the package's CONNECT request, and calls back with the request's stream. */
function onRequest(
  connection: ClientHttp2Session,
  headers: TransportDialOptions["headers"],
  onStream: (stream: ClientHttp2Stream) => void,
): void {
  const request = connection.request.bind(connection);
  connection.request = (ownHeaders, options) => {
    const stream = request({ ...ownHeaders, ...lowerCase(headers) }, options);
    onStream(stream);
    return stream;
  };
}

function lowerCase(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
