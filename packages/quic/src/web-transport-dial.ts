import type { Datagrams } from "./datagrams.js";
import { checkHandshakeTimeout, dial, MAX_HANDSHAKE_TIMEOUT_MS } from "./dial.js";
import type { Engine } from "./engine.js";
import { invalidOption, QuicError } from "./errors.js";
import { DEFAULT_HANDSHAKE_TIMEOUT_MS, type TransportOptions } from "./limits.js";
import type { QuicSession } from "./session.js";
import type { ClientTlsOptions } from "./tls-options.js";
import { encodeFields, encodeProtocols, type HeaderFields } from "./web-transport-request.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** ALPN name of HTTP/3 (RFC 9114 §3.1). */
export const HTTP3_ALPN = "h3";

/** HTTP/3 error code of a normal close (RFC 9114 §8.1). */
export const H3_NO_ERROR = 0x100;

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions {
  /** Subprotocols to offer to the server, in order of preference. Default: none. */
  protocols?: readonly string[];
  /** Additional header fields of the request, such as `authorization` or `origin`. Default: none. */
  headers?: HeaderFields;
  /**
   * Trusted certificates, and this side's own certificate. Default: the system's root certificates, and no own
   * certificate.
   */
  tls?: ClientTlsOptions;
  /** Name that the server's certificate must contain. Default: the URL's host. */
  serverName?: string;
  /** Timeouts, windows and limits of the connection (docs/limits.md). Default: `DEFAULT_TRANSPORT`. */
  transport?: TransportOptions;
  /**
   * If true, the session may share a connection with other sessions that have the same server and options. Default
   * false.
   */
  allowPooling?: boolean;
  /** Aborts the attempt. The promise then rejects with the signal's reason. Default: none. */
  signal?: AbortSignal;
  /** Timeout in milliseconds for the connection and the server's response together. Default 10,000. */
  handshakeTimeoutMs?: number;
  /** @internal Datagrams object that was created before the session. */
  datagrams?: Datagrams;
}

/**
 * A connection that several sessions share. The connection attempt continues while at least one session waits for it.
 * Each session has its own signal and timeout.
 */
class SharedConnection {
  readonly #abandon: AbortController = new AbortController();
  readonly #dialled: Promise<QuicSession>;
  #waiting = 0;

  constructor(connect: (abandon: AbortSignal) => Promise<QuicSession>, onEnd: () => void) {
    this.#dialled = connect(this.#abandon.signal);
    this.#abandon.signal.addEventListener("abort", onEnd);
    this.#dialled.then((session) => session.closed.then(onEnd, onEnd), onEnd);
  }

  async join(sessionRequest: SessionRequest): Promise<QuicSession> {
    const { signal } = sessionRequest.options;
    let onAbort = (): void => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal?.reason);
      timer = setTimeout(() => reject(lateError(sessionRequest)), sessionRequest.until - performance.now());
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting++;
    try {
      return await Promise.race([this.#dialled, aborted]);
    } catch (error) {
      if (this.#waiting === 1) this.#abandon.abort(error);
      throw error;
    } finally {
      this.#waiting--;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

/** Shared connections of each endpoint, by server and options. */
const pools = new WeakMap<Engine, Map<string, SharedConnection>>();

interface Carrier {
  readonly connection: QuicSession;
  /** True if the connection carries only this session. */
  readonly exclusive: boolean;
  /** Removes a shared connection from the pool, because it may be closing and other sessions must not use it. */
  readonly discard?: () => void;
}

interface SessionRequest {
  readonly target: Target;
  readonly protocols: string;
  readonly fields: string;
  /** Deadline of the request (`performance.now()`). */
  readonly until: number;
  readonly options: WebTransportConnectOptions;
}

/** Opens a WebTransport session on a new or a shared connection. */
export async function dialWebTransport(
  engine: Engine,
  url: string | URL,
  options: WebTransportConnectOptions,
): Promise<WebTransportSession> {
  const { handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS } = options;
  checkHandshakeTimeout(handshakeTimeoutMs);
  const sessionRequest: SessionRequest = {
    target: parseUrl(url),
    protocols: encodeProtocols(options.protocols),
    fields: encodeFields(options.headers),
    until: performance.now() + handshakeTimeoutMs,
    options,
  };
  for (;;) {
    const carrier = await connectionFor(engine, sessionRequest);
    try {
      return await requestSession(engine, carrier, sessionRequest);
    } catch (error) {
      if (carrier.discard === undefined || !isUnasked(error)) throw error;
      carrier.discard();
    }
  }
}

/**
 * Returns true if the server has not processed the request, because the connection had already ended or accepts no more
 * sessions (RFC 9114 §5.2).
 */
function isUnasked(error: unknown): boolean {
  return error instanceof QuicError && ["ERR_QUIC_CLOSED", "ERR_QUIC_SESSION_UNAVAILABLE"].includes(error.code);
}

function requestSession(
  engine: Engine,
  { connection, exclusive }: Carrier,
  sessionRequest: SessionRequest,
): Promise<WebTransportSession> {
  const { target, protocols, fields, until, options } = sessionRequest;
  const { signal } = options;
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const fail = (reason: unknown): void => {
      finish();
      reject(reason);
      if (exclusive) connection.close({ closeCode: H3_NO_ERROR });
    };
    let cancel = (): void => {};
    const onAbort = (): void => {
      cancel();
      fail(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        cancel();
        fail(lateError(sessionRequest));
      },
      Math.max(0, until - performance.now()),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      cancel = engine.webTransports.requestSession(connection, {
        authority: target.authority,
        path: target.path,
        protocols,
        fields,
        datagrams: options.datagrams,
        granted: (session) => {
          finish();
          resolve(session);
        },
        failed: fail,
      });
    } catch (error) {
      fail(error);
      return;
    }
    if (signal?.aborted) onAbort();
  });
}

function lateError({
  target,
  options: { handshakeTimeoutMs = DEFAULT_HANDSHAKE_TIMEOUT_MS },
}: SessionRequest): QuicError {
  const message = `no answer from ${target.authority} to the request for a WebTransport session within ${handshakeTimeoutMs} ms`;
  return new QuicError({ source: "session", code: "ERR_QUIC_HANDSHAKE_TIMEOUT", message });
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly authority: string;
  readonly path: string;
}

/** Splits an https URL into the parts that a connection attempt needs. Throws `QuicError` for other URLs. */
export function parseUrl(url: string | URL): Target {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw invalidOption(`${JSON.stringify(String(url))} is not a URL`);
  }
  const { protocol, username, password, hostname, port, host, pathname, search, hash } = parsed;
  if (protocol !== "https:") throw invalidOption(`the URL must begin with https://, not ${protocol}//`);
  if (hash !== "") throw invalidOption("the URL must not have a fragment (#…)");
  if (username !== "" || password !== "") throw invalidOption("the URL must not have a user name or password");
  return { host: hostname, port: port === "" ? 443 : Number(port), authority: host, path: pathname + search };
}

/**
 * Returns a new or shared connection for one session. The native engine closes the connection when its last session
 * ends.
 */
async function connectionFor(engine: Engine, sessionRequest: SessionRequest): Promise<Carrier> {
  const { target, options } = sessionRequest;
  const { host, port } = target;
  const { tls, transport, serverName, signal, handshakeTimeoutMs, allowPooling = false } = options;
  if (allowPooling && tls?.serverCertificateHashes !== undefined) {
    throw invalidOption("allowPooling and serverCertificateHashes cannot be combined (W3C WebTransport §6.2)");
  }
  const connect = (abandon: AbortSignal | undefined, timeoutMs: number | undefined): Promise<QuicSession> =>
    dial(
      engine,
      {
        host,
        port,
        alpn: [HTTP3_ALPN],
        ...(tls !== undefined && { tls }),
        ...(transport !== undefined && { transport }),
        ...(serverName !== undefined && { serverName }),
        ...(abandon !== undefined && { signal: abandon }),
        ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
      },
      // A server opens no sessions. This number only tells the engine that the connection uses HTTP/3.
      1,
    );
  // Without a waiting caller the dial would never be cancelled.
  signal?.throwIfAborted();
  if (!allowPooling) return { connection: await connect(signal, handshakeTimeoutMs), exclusive: true };
  const pool = pools.get(engine) ?? new Map<string, SharedConnection>();
  pools.set(engine, pool);
  const key = JSON.stringify([host, port, serverName, transport, tls]);
  const discard = (connection: SharedConnection): void => {
    if (pool.get(key) === connection) pool.delete(key);
  };
  const known = pool.get(key);
  if (known !== undefined)
    return { connection: await known.join(sessionRequest), exclusive: false, discard: () => discard(known) };
  const dialled: SharedConnection = new SharedConnection(
    (abandon) => connect(abandon, MAX_HANDSHAKE_TIMEOUT_MS),
    () => discard(dialled),
  );
  pool.set(key, dialled);
  return { connection: await dialled.join(sessionRequest), exclusive: false };
}
