import type { IncomingMessage } from "node:http";
import { WEBSOCKET_PROTOCOL, webSocketSession } from "@quicrpc/core";
import { type WebSocket, WebSocketServer } from "ws";
import { headersOf, pathOf } from "../peer.js";
import { MAX_WEBSOCKET_MESSAGE } from "../protocol.js";
import type { Arrival, ListenSettings } from "./listener.js";
import { remoteAddressOf } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./tls-settings.js";

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
  take(request: IncomingMessage, head: Buffer, listener: string, onArrival: (arrival: Arrival) => void): void {
    this.server.handleUpgrade(request, request.socket, head, (socket) =>
      onArrival(arrivalOf(socket, request, listener, this.settings)),
    );
  }
}

function arrivalOf(ws: WebSocket, request: IncomingMessage, listener: string, settings: ListenSettings): Arrival {
  const { socket, rawHeaders } = request;
  const fields = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] as string]] : [],
  );
  return {
    refusal: certificateRefusal(socket, settings),
    transport: webSocketSession(ws, "server", { closeTimeoutMs: settings.limits.maxCloseMs }),
    peer: {
      transport: "websocket",
      listener,
      remoteAddress: remoteAddressOf(socket),
      headers: headersOf(fields),
      path: request.url,
      origin: request.headers.origin,
      certificate: verifiedCertificate(socket),
      earlyData: false,
      handshake: Promise.resolve(),
    },
  };
}
