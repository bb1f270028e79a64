import type { Datagrams } from "./datagrams.js";
import { dial } from "./dial.js";
import type { Engine } from "./engine.js";
import { invalidOption, QuicError } from "./errors.js";
import { DEFAULT_HANDSHAKE_TIMEOUT_MS, type TransportOptions } from "./limits.js";
import type { QuicSession } from "./session.js";
import type { ClientTlsOptions } from "./tls-options.js";
import { encodeFields, encodeProtocols, type HeaderFields } from "./web-transport-request.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** HTTP/3 (RFC 9114 §3.1). */
export const HTTP3_ALPN = "h3";

/** RFC 9114 §8.1. */
const H3_NO_ERROR = 0x100;

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions {
  /** Subprotocols, in order of preference. */
  protocols?: readonly string[];
  /** Further header fields of the request, such as `authorization` or `origin`. */
  headers?: HeaderFields;
  tls?: ClientTlsOptions;
  /** The name the certificate must be for. Default: the URL's host. */
  serverName?: string;
  transport?: TransportOptions;
  /** Whether the session may share a connection with others to the same server and with the same options. */
  allowPooling?: boolean;
  /** Gives up; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Time for connection and answer together. Default 10,000. */
  handshakeTimeoutMs?: number;
  /** @internal Those of a session that is not there yet. */
  datagrams?: Datagrams;
}

/** Connections that more sessions may join, by server and options. */
const pools = new WeakMap<Engine, Map<string, Promise<QuicSession>>>();

/** Connects, or joins a connection, and asks for a session. */
export async function dialWebTransport(
  engine: Engine,
  url: string | URL,
  options: WebTransportConnectOptions,
): Promise<WebTransportSession> {
  const target = parseUrl(url);
  const { handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS, signal } = options;
  const protocols = encodeProtocols(options.protocols);
  const fields = encodeFields(options.headers);
  const until = performance.now() + handshakeTimeoutMs;
  const { carrier, pooled } = await carry(engine, target, options);
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const give = (reason: unknown): void => {
      finish();
      reject(reason);
      if (!pooled) carrier.close({ closeCode: H3_NO_ERROR });
    };
    let cancel = (): void => {};
    const onAbort = (): void => {
      cancel();
      give(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        cancel();
        const message = `no answer from ${target.authority} to the request for a WebTransport session within ${handshakeTimeoutMs} ms`;
        give(new QuicError({ source: "session", code: "ERR_QUIC_HANDSHAKE_TIMEOUT", message }));
      },
      Math.max(0, until - performance.now()),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      cancel = engine.webTransports.ask(carrier, {
        authority: target.authority,
        path: target.path,
        protocols,
        fields,
        datagrams: options.datagrams,
        granted: (session) => {
          finish();
          resolve(session);
        },
        failed: give,
      });
    } catch (error) {
      give(error);
      return;
    }
    if (signal?.aborted) onAbort();
  });
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly authority: string;
  readonly path: string;
}

function parseUrl(url: string | URL): Target {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw invalidOption(`${JSON.stringify(String(url))} is not a URL`);
  }
  const { protocol, hostname, port, host, pathname, search, hash } = parsed;
  if (protocol !== "https:") throw invalidOption(`a WebTransport URL begins with https://, not ${protocol}//`);
  if (hash !== "") throw invalidOption("a WebTransport URL has no fragment (#…)");
  return { host: hostname, port: port === "" ? 443 : Number(port), authority: host, path: pathname + search };
}

/** A connection that speaks HTTP/3. The engine closes it when its last session is over. */
async function carry(
  engine: Engine,
  { host, port }: Target,
  options: WebTransportConnectOptions,
): Promise<{ carrier: QuicSession; pooled: boolean }> {
  const { tls, transport, serverName, signal, handshakeTimeoutMs, allowPooling = false } = options;
  if (allowPooling && tls?.serverCertificateHashes !== undefined) {
    throw invalidOption("allowPooling and serverCertificateHashes exclude each other (W3C WebTransport §6.2)");
  }
  const connect = (giveUp: AbortSignal | undefined): Promise<QuicSession> =>
    dial(
      engine,
      {
        host,
        port,
        alpn: [HTTP3_ALPN],
        ...(tls !== undefined && { tls }),
        ...(transport !== undefined && { transport }),
        ...(serverName !== undefined && { serverName }),
        ...(giveUp !== undefined && { signal: giveUp }),
        ...(handshakeTimeoutMs !== undefined && { handshakeTimeoutMs }),
      },
      // A server opens no sessions; this only says that the connection speaks HTTP/3.
      1,
    );
  if (!allowPooling) return { carrier: await connect(signal), pooled: false };
  const pool = pools.get(engine) ?? new Map<string, Promise<QuicSession>>();
  pools.set(engine, pool);
  const key = JSON.stringify([host, port, serverName, transport, tls]);
  let connection = pool.get(key);
  if (connection === undefined) {
    // Others may wait for it, so one's signal does not end it.
    connection = connect(undefined);
    pool.set(key, connection);
    const forget = (): void => void pool.delete(key);
    connection.then((session) => session.closed.then(forget, forget), forget);
  }
  return { carrier: await connection, pooled: true };
}
