import type { IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { WEBTRANSPORT_STREAM_PROTOCOL, webTransportStreamSession } from "@quicrpc/core";
import { type Arrival, type ListenSettings, MAX_SESSIONS } from "../listen/listener.js";
import { remoteAddressOf } from "../listen/socket-server.js";
import { certificateRefusal, verifiedCertificate } from "../listen/tls-settings.js";
import { headersOf, pathOf, type Peer, type TransportKind } from "../peer.js";
import type { TLSSocket } from "node:tls";
import { lettingGo } from "./closing.js";
import { refuseLateStreams } from "./containment.js";
import type { FailsAnswer, FailsServer, FailsServerSession } from "./package.js";

/** What a request came over. */
export interface Source {
  readonly transport: TransportKind & `webtransport-${string}`;
  readonly socket: TLSSocket;
  /** Holds the session: a stream of the connection, or the socket itself. */
  readonly holder: Duplex;
}

/** A request that was accepted, as its session gives it back. */
interface Accepted {
  readonly header: IncomingHttpHeaders;
  readonly source: Source | undefined;
}

/** The package hands over the sessions of one path; which was asked for has been looked at before. */
const SESSIONS = "/";

/** Decides about a server's requests, and makes arrivals of its sessions. */
export class FailsRequests {
  /** Of the request that the package is about to call back for, where that is known: it does before it returns. */
  source: Source | undefined;
  private readonly path: string;
  private readonly settings: ListenSettings;
  private readonly url: () => string;
  private readonly onArrival: (arrival: Arrival) => void;
  private sessions = 0;
  private stopped = false;

  constructor(
    server: FailsServer,
    path: string,
    settings: ListenSettings,
    url: () => string,
    onArrival: (arrival: Arrival) => void,
  ) {
    this.path = path;
    this.settings = settings;
    this.url = url;
    this.onArrival = onArrival;
    server.setRequestCallback(({ header }) => Promise.resolve(this.answer(header)));
    void this.take(server.sessionStream(SESSIONS, { noAutoPaths: true }).getReader());
  }

  /** Takes no more sessions. */
  stop(): void {
    this.stopped = true;
  }

  /** The HTTP status that refuses a request; undefined where it may pass. */
  refusal(header: IncomingHttpHeaders): number | undefined {
    if (this.stopped || this.sessions >= (this.settings.transport?.maxSessions ?? MAX_SESSIONS)) return 503;
    if (pathOf(header[":path"]) !== this.path) return 404;
    const authority = header[":authority"] ?? header.host;
    return this.settings.pages.refusal({ origin: pageOrigin(header.origin), authority, plainHost: undefined });
  }

  private answer(header: IncomingHttpHeaders): FailsAnswer {
    const { source } = this;
    this.source = undefined;
    const status = this.refusal(header);
    if (status !== undefined) return { status };
    if (!header["wt-available-protocols"]?.includes(WEBTRANSPORT_STREAM_PROTOCOL)) return { status: 400 };
    this.sessions++;
    source?.holder.once("close", () => this.sessions--);
    const userData: Accepted = { header, source };
    return { status: 200, path: SESSIONS, selectedProtocol: WEBTRANSPORT_STREAM_PROTOCOL, userData };
  }

  private async take(reader: ReadableStreamDefaultReader<FailsServerSession>): Promise<void> {
    for (;;) {
      const { value: session } = await reader.read();
      if (session === undefined) return;
      this.arrive(session);
    }
  }

  private arrive(session: FailsServerSession): void {
    const { header, source } = session.userData as Accepted;
    refuseLateStreams(session);
    if (source === undefined) {
      const over = (): void => void this.sessions--;
      session.closed.then(over, over);
    }
    const held = source === undefined ? session : lettingGo(session, source.holder);
    const closing = { closeTimeoutMs: this.settings.limits.maxCloseMs };
    this.onArrival({
      refusal: source && certificateRefusal(source.socket, this.settings),
      transport: webTransportStreamSession(held, "server", closing),
      peer: peerOf(session, header, source, this.url()),
    });
  }
}

function peerOf(
  { peerAddress }: FailsServerSession,
  header: IncomingHttpHeaders,
  source: Source | undefined,
  listener: string,
): Peer {
  return {
    transport: source?.transport ?? "webtransport",
    listener,
    remoteAddress: source === undefined ? addressOf(peerAddress) : remoteAddressOf(source.socket),
    headers: headersOf(Object.entries(header).flatMap(([name, value]) => fieldsOf(name, value))),
    path: header[":path"],
    origin: pageOrigin(header.origin),
    certificate: source && verifiedCertificate(source.socket),
    earlyData: false,
    handshake: Promise.resolve(),
  };
}

/** The package's clients in Node send their host's name as origin; what a page sends is a scheme and more, or "null". */
function pageOrigin(origin: string | undefined): string | undefined {
  return origin === undefined || !(origin === "null" || origin.includes("://")) ? undefined : origin;
}

function fieldsOf(name: string, value: string | string[] | undefined): [string, string][] {
  return [value ?? []].flat().map((one) => [name, one]);
}

/** "host:port", as the package tells it of HTTP/3. */
function addressOf(text: string | undefined): Peer["remoteAddress"] {
  const parts = text?.match(/^\[?(.*?)\]?:(\d+)$/);
  return parts ? { host: parts[1] as string, port: Number(parts[2]) } : undefined;
}
