import {
  Endpoint,
  PortGroup,
  type QuicSession,
  type ServerTlsOptions,
  type WebTransportResponse,
  type WebTransportRequest,
  WebTransportSession,
} from "@quicrpc/quic";
import { warnOfBlocking } from "./systemd.js";
import { reportRefusal } from "../refusals.js";
import { headersOf, pathOf } from "../peer.js";
import { ALPN, WEB_TRANSPORT_PROTOCOL } from "../protocol.js";
import type { ListenTransport } from "../transport/provider.js";
import { type Listen, listenWithTcp } from "./with-tcp.js";
import { ConnectionLimiter, connectionLimits } from "./connection-limiter.js";
import { sourceIn } from "./places.js";
import type { PendingSession, IncomingPeer, ListenSettings } from "./listener.js";
import { hkdfSync } from "node:crypto";

/** Listens for `quic://` on a UDP port. Also accepts WebTransport on the target's path. */
export const listenQuic: ListenTransport = (...args) =>
  listenWithTcp((...udpArgs) => listen("quic", ...udpArgs), ...args);

/** Same as `listenQuic`, but with the URL that WebTransport clients use: `https://host:port/path`. */
export const listenWebTransport: ListenTransport = (...args) =>
  listenWithTcp((...udpArgs) => listen("https", ...udpArgs), ...args);

const listen = async (
  scheme: "quic" | "https",
  ...[
    { host, port, path: urlPath, member: workerMember, datagramDescriptors },
    settings,
    onIncoming,
  ]: Parameters<Listen>
): ReturnType<Listen> => {
  const { transport, pages, onError, limits, connectionIds } = settings;
  const { http } = settings.web;
  const takesHttp3 = http?.takesHttp3 === true;
  const path = urlPath === "" ? "/" : urlPath;
  const secret = settings.secret ?? secretOf(settings.tls);
  const ids = connectionIds === undefined ? {} : { connectionIds };
  // A worker's are its primary's, which has given it one.
  const descriptors = workerMember === undefined ? datagramDescriptors : undefined;
  if (descriptors !== undefined) warnOfBlocking(descriptors);
  const portGroup = descriptors && PortGroup.inherit({ descriptors, ...ids });
  const member = workerMember ?? portGroup?.members[0];
  const endpoint = Endpoint.bind({
    port,
    ...(host !== undefined && { host }),
    ...(member !== undefined && { member }),
    ...(secret !== undefined && { secret }),
    ...ids,
    onError: (error) => onError(error, { method: `a session over ${scheme}://` }),
  });
  const { address } = endpoint;
  const authority = `${address.family === "IPv6" ? `[${address.host}]` : address.host}:${address.port}`;
  const url = scheme === "quic" ? `quic://${authority}` : `https://${authority}${path}`;
  const limiter = new ConnectionLimiter(connectionLimits(transport, limits));
  let stopped = false;
  const onRequest = (request: WebTransportRequest): WebTransportResponse => {
    const status = refusalOf(request);
    if (status === undefined) {
      return request.protocols.includes(WEB_TRANSPORT_PROTOCOL) ? { protocol: WEB_TRANSPORT_PROTOCOL } : {};
    }
    const reason = `WebTransport on ${request.path}: status ${status}`;
    reportRefusal(() => ({ stage: "request", listener: url, remoteAddress: request.remoteAddress, reason }));
    return { status };
  };
  const refusalOf = (request: WebTransportRequest): number | undefined => {
    if (stopped) return 503;
    if (pathOf(request.path) !== path) return 404;
    const status = pages.refusal({ origin: request.origin, authority: request.authority, plainHost: undefined });
    if (status !== undefined) return status;
    // Browsers that do not support subprotocols may connect; clients that only offer other subprotocols may not.
    const speaks = request.protocols.length === 0 || request.protocols.includes(WEB_TRANSPORT_PROTOCOL);
    return speaks ? undefined : 400;
  };
  try {
    endpoint.listen(
      {
        alpn: [ALPN],
        webTransport: { onRequest },
        ...(takesHttp3 && { onHttpRequest: (request) => http.takeHttp3(request, url) }),
        ...tlsOf(settings),
        transport: { ...transport, handshakeTimeoutMs: limits.maxHandshakeMs },
        admission: "manual",
        onHandshakeError: (error) =>
          reportRefusal(() => ({
            stage: "handshake",
            listener: url,
            remoteAddress: error.remoteAddress,
            reason: error.message,
            error,
          })),
      },
      (session) =>
        onIncoming({ transport: session, peer: new QuicPeer(session, url), pending: pendingOf(session, limiter) }),
    );
    portGroup?.accept();
  } catch (error) {
    await endpoint.close();
    portGroup?.close();
    throw error;
  }
  return {
    url,
    address,
    takesHttp3,
    stop: () => {
      stopped = true;
      endpoint.drain();
    },
    close: async (info) => {
      await endpoint.close(info);
      portGroup?.close();
    },
    updateTls: (settings) => endpoint.updateTls(tlsOf(settings)),
    ref: () => void endpoint.ref(),
    unref: () => void endpoint.unref(),
  };
};

function tlsOf({ tls, clientCertificates, earlyData, ticketKeys }: ListenSettings): ServerTlsOptions {
  return {
    // The engine reports the problem if there is none.
    tls: tls as NonNullable<typeof tls>,
    earlyData,
    // If several processes accepted the same ticket, it could be used more than once for early data.
    ...(!earlyData && { ticketKeys }),
    ...(clientCertificates !== undefined && { clientCertificates }),
  };
}

/**
 * Returns the admission of a QUIC session. The engine counts pending connections and all sessions, and closes
 * connections without a session in time. `limiter` counts the sessions of each address.
 */
function pendingOf(session: QuicSession, limiter: ConnectionLimiter): PendingSession {
  return {
    // A connection that has already carried a session is not pending any more, so its next session has the full time.
    remainingMs: Math.min(limiter.limits.maxHandshakeMs, session.remainingMs),
    arrived: () => {},
    onGone: (listener) => void session.closed.then(listener, listener),
    admit: () => admit(session, limiter),
    refuse: () => {},
  };
}

function admit(session: QuicSession, limiter: ConnectionLimiter): boolean {
  const source = sourceIn(session.remoteAddress.host);
  if (limiter.isFull(source) || !session.admit()) return false;
  limiter.takeSession(source);
  const release = (): void => limiter.releaseSession(source);
  void session.closed.then(release, release);
  return true;
}

/**
 * Peer of a QUIC session. This is a class because V8 would allocate the getters of an object literal in the old
 * generation; see `PeerWithGreeting` in greeted-peer.ts.
 */
class QuicPeer implements IncomingPeer {
  readonly transport: IncomingPeer["transport"];
  readonly listener: string;
  readonly remoteAddress: IncomingPeer["remoteAddress"];
  readonly path: string | undefined;
  readonly origin: string | undefined;
  readonly earlyData: boolean;
  readonly #session: QuicSession;
  #headers: Headers | undefined = undefined;

  constructor(session: QuicSession, listener: string) {
    const web = session instanceof WebTransportSession ? session : undefined;
    this.transport = web === undefined ? "quic" : "webtransport";
    this.listener = listener;
    this.remoteAddress = session.remoteAddress;
    this.path = web?.path;
    this.origin = web?.headers.get("origin");
    this.earlyData = session.early;
    this.#session = session;
  }

  /**
   * Header fields of the request. Created when first used, because the first `Headers` object makes Node load all of
   * `fetch`.
   */
  get headers(): Headers {
    const session = this.#session;
    this.#headers ??= headersOf(session instanceof WebTransportSession ? session.headers : []);
    return this.#headers;
  }

  get certificate(): IncomingPeer["certificate"] {
    return this.#session.peerCertificate;
  }

  get handshake(): Promise<void> {
    return this.#session.ready;
  }
}

const SECRET_BYTES = 32;

/**
 * Returns the default for the server option `secret`. It is derived from the certificate's private key, so it stays the
 * same after a restart.
 */
function secretOf(tls: ListenSettings["tls"]): Uint8Array | undefined {
  const key: unknown = [tls].flat()[0]?.key;
  // The engine reports the problem of any other value.
  if (typeof key !== "string" && !(key instanceof Uint8Array)) return undefined;
  return new Uint8Array(hkdfSync("sha256", key, "", "quicrpc secret of a server", SECRET_BYTES));
}
