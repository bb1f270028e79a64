import type { IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { oneStreamTransport, WEBTRANSPORT_STREAM_PROTOCOL } from "@quicrpc/core/transport";
import {
  type AcceptedSocket,
  certificateRefusal,
  type ConnectionLimiter,
  headersOf,
  type HeldReads,
  pathOf,
  type PendingConnection,
  placed,
  verifiedCertificate,
} from "@quicrpc/node/internal";
import type { IncomingPeer, IncomingSession, ListenSettings } from "@quicrpc/node/transport";
import type { TLSSocket } from "node:tls";
import { refuseLateStreams } from "./containment.js";
import type { FailsAnswer, FailsServer, FailsServerSession, PackageSession } from "./package.js";

/** The connection on which a request arrived. */
export interface Source {
  readonly transport: "webtransport-http2" | "webtransport-websocket";
  readonly socket: TLSSocket;
  readonly accepted: AcceptedSocket;
  /** Stream of the connection that carries the session, or the socket itself. */
  readonly holder: Duplex;
  /** Stops reading the session's data until the result is released. */
  readonly hold: () => HeldReads;
}

/** An accepted request. The package stores it as the session's `userData`. */
interface Accepted {
  readonly header: IncomingHttpHeaders;
  readonly source: Source;
  readonly pending: PendingConnection;
}

/** Path under which the package delivers all sessions. `FailsRequests` has already checked the requested path. */
const SESSIONS = "/";

/** Accepts or refuses the requests to a server, and creates incoming sessions from the package's sessions. */
export class FailsRequests {
  /** Connection of the request whose callback the package is about to call synchronously. */
  source: Source | undefined = undefined;
  private readonly path: string;
  private readonly settings: ListenSettings;
  private readonly limiter: ConnectionLimiter;
  private readonly url: () => string;
  private readonly onIncoming: (incoming: IncomingSession) => void;
  private stopped = false;

  constructor(
    server: FailsServer,
    path: string,
    settings: ListenSettings,
    limiter: ConnectionLimiter,
    url: () => string,
    onIncoming: (incoming: IncomingSession) => void,
  ) {
    this.path = path;
    this.settings = settings;
    this.limiter = limiter;
    this.url = url;
    this.onIncoming = onIncoming;
    server.setRequestCallback(({ header }) => Promise.resolve(this.responseFor(header)));
    void this.acceptSessions(server.sessionStream(SESSIONS, { noAutoPaths: true }).getReader());
  }

  stop(): void {
    this.stopped = true;
  }

  /** Returns the HTTP status with which to refuse a request, or undefined to accept it. */
  refusal(header: IncomingHttpHeaders): number | undefined {
    if (this.stopped) return 503;
    if (pathOf(header[":path"]) !== this.path) return 404;
    const authority = header[":authority"] ?? header.host;
    return this.settings.pages.refusal({ origin: pageOrigin(header.origin), authority, plainHost: undefined });
  }

  private responseFor(header: IncomingHttpHeaders): FailsAnswer {
    const { source } = this;
    this.source = undefined;
    const status = this.refusal(header);
    if (status !== undefined) return { status };
    if (!header["wt-available-protocols"]?.includes(WEBTRANSPORT_STREAM_PROTOCOL)) return { status: 400 };
    if (source === undefined) return { status: 503 };
    const pending = this.reservePlace(source);
    if (pending === undefined) return { status: 503 };
    const userData: Accepted = { header, source, pending };
    return { status: 200, path: SESSIONS, selectedProtocol: WEBTRANSPORT_STREAM_PROTOCOL, userData };
  }

  /**
   * Counts a session in the server's limits. A WebSocket over HTTP/1.1 is counted by its connection; each session on an
   * HTTP/2 connection is counted separately.
   */
  private reservePlace({ accepted, holder, socket }: Source): PendingConnection | undefined {
    if (holder === socket) return accepted.pending;
    const pending = this.limiter.reserve(
      accepted.remoteAddress?.host,
      () => holder.destroy(),
      accepted.pending.carriedMs,
    );
    if (pending === undefined) return undefined;
    const releaseCarried = accepted.pending.carry();
    holder.once("close", () => {
      pending.ended();
      releaseCarried();
    });
    return pending;
  }

  private async acceptSessions(reader: ReadableStreamDefaultReader<FailsServerSession>): Promise<void> {
    for (;;) {
      const { value: session } = await reader.read();
      if (session === undefined) return;
      this.arrive(session);
    }
  }

  private arrive(session: FailsServerSession): void {
    const { header, source, pending } = session.userData as Accepted;
    refuseLateStreams(session);
    pending.hold(source.hold());
    const greeted = (): boolean => {
      source.accepted.pending.settled();
      return pending.greeted();
    };
    const transport = oneStreamTransport(
      destroyingOnClose(session, source.holder),
      "server",
      placed({ greeted }, this.settings.limits, () => transport),
    );
    this.onIncoming({
      pending,
      refusal: certificateRefusal(source.socket, this.settings),
      transport,
      peer: peerOf(header, source, this.url()),
    });
  }
}

function peerOf(header: IncomingHttpHeaders, source: Source, listener: string): IncomingPeer {
  return {
    transport: source.transport,
    listener,
    remoteAddress: source.accepted.remoteAddress,
    headers: headersOf(Object.entries(header).flatMap(([name, value]) => fieldsOf(name, value))),
    path: header[":path"],
    origin: pageOrigin(header.origin),
    certificate: verifiedCertificate(source.socket),
    earlyData: false,
    handshake: Promise.resolve(),
  };
}

/**
 * Returns the origin of a page. Returns undefined for the package's Node clients, which send their host name as origin:
 * a page's origin begins with a scheme, or is "null".
 */
function pageOrigin(origin: string | undefined): string | undefined {
  return origin === undefined || !(origin === "null" || origin.includes("://")) ? undefined : origin;
}

function fieldsOf(name: string, value: string | string[] | undefined): [string, string][] {
  return [value ?? []].flat().map((entry) => [name, entry]);
}

/** A connection, or one of its streams, that carries a session. */
export interface Holder {
  destroy(): unknown;
}

/**
 * Returns `session` with another `close`, which destroys the session's connection or stream. The package's own `close`
 * ends the HTTP/2 stream and waits for the peer, which may not exist any more. If both sides close at the same time, it
 * also destroys an ended stream that was not reset; Node's HTTP/2 then sends empty frames forever. The reason has
 * already been sent on the stream when `close` is called.
 */
export function destroyingOnClose(session: PackageSession, holder: Holder): PackageSession {
  const { ready, closed, datagrams, incomingBidirectionalStreams, incomingUnidirectionalStreams } = session;
  return {
    ready,
    closed,
    datagrams,
    incomingBidirectionalStreams,
    incomingUnidirectionalStreams,
    createBidirectionalStream: () => session.createBidirectionalStream(),
    close: () => void holder.destroy(),
  };
}
