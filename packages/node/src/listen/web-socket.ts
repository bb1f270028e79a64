import type { IncomingMessage } from "node:http";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { type WebSocket, WebSocketServer } from "ws";
import { headersOf, pathOf } from "../peer.js";
import { MAX_WEBSOCKET_MESSAGE } from "../protocol.js";
import { type Arrival, type ListenSettings, placed } from "./listener.js";
import { holdReads } from "./held-reads.js";
import type { Guest } from "./socket-server.js";
import { exporterOf } from "../stream/node-stream.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";

/** Makes arrivals of a server's requests to upgrade to WebSocket. */
export class WebSocketUpgrades {
  private readonly path: string;
  private readonly plainHost: string | undefined;
  private readonly settings: ListenSettings;
  private readonly server: WebSocketServer = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_WEBSOCKET_MESSAGE,
    handleProtocols: (offered) => (offered.has(WEBSOCKET_PROTOCOL) ? WEBSOCKET_PROTOCOL : false),
  });

  /** @param plainHost of the listener's URL, where that is without TLS */
  constructor(path: string, plainHost: string | undefined, settings: ListenSettings) {
    this.path = path;
    this.plainHost = plainHost;
    this.settings = settings;
  }

  /** The HTTP status that refuses a request; undefined where it may pass. */
  refusal({ url, headers }: IncomingMessage): number | undefined {
    if (pathOf(url) !== this.path) return 404;
    const { plainHost } = this;
    const status = this.settings.pages.refusal({ origin: headers.origin, authority: headers.host, plainHost });
    if (status !== undefined) return status;
    const offered = headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim()) ?? [];
    return offered.includes(WEBSOCKET_PROTOCOL) ? undefined : 400;
  }

  /** @param listener its URL */
  take(
    request: IncomingMessage,
    head: Buffer,
    guest: Guest,
    listener: string,
    onArrival: (arrival: Arrival) => void,
  ): void {
    this.server.handleUpgrade(request, request.socket, head, (socket) =>
      onArrival(arrivalOf(socket, request, guest, listener, this.settings)),
    );
  }
}

function arrivalOf(
  ws: WebSocket,
  request: IncomingMessage,
  { visit, remoteAddress }: Guest,
  listener: string,
  settings: ListenSettings,
): Arrival {
  const { socket, rawHeaders } = request;
  visit.hold(holdReads(socket));
  const fields = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] as string]] : [],
  );
  const options = { ...placed(visit, settings.limits, () => session), ...exporterOf(socket) };
  const session = webSocketTransport(ws, "server", options);
  return {
    visit,
    refusal: certificateRefusal(socket, settings),
    transport: session,
    peer: {
      transport: "websocket",
      listener,
      remoteAddress,
      headers: headersOf(fields),
      path: request.url,
      origin: request.headers.origin,
      certificate: verifiedCertificate(socket),
      earlyData: false,
      handshake: Promise.resolve(),
    },
  };
}
