import type { IncomingMessage } from "node:http";
import { headersOf, pathOf } from "../peer.js";
import { acceptHandshake, handshakeRefusal } from "../web-socket/handshake.js";
import { webSocketOn } from "../web-socket/transport.js";
import { type IncomingSession, type ListenSettings, placed } from "./listener.js";
import { holdReads } from "./held-reads.js";
import type { AcceptedSocket } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";

/** Creates incoming sessions from a server's WebSocket upgrade requests. */
export class WebSocketUpgrades {
  private readonly path: string;
  private readonly plainHost: string | undefined;
  private readonly settings: ListenSettings;

  /** @param plainHost host of the listener's URL if the listener does not use TLS, otherwise undefined */
  constructor(path: string, plainHost: string | undefined, settings: ListenSettings) {
    this.path = path;
    this.plainHost = plainHost;
    this.settings = settings;
  }

  /** Returns the HTTP status with which to refuse an upgrade request, or undefined to accept it. */
  refusal(request: IncomingMessage): number | undefined {
    const { url, headers } = request;
    if (pathOf(url) !== this.path) return 404;
    const { plainHost } = this;
    return (
      this.settings.pages.refusal({ origin: headers.origin, authority: headers.host, plainHost }) ??
      handshakeRefusal(request)
    );
  }

  /**
   * Accepts an upgrade request and creates an incoming session from it.
   * @param listener URL of the listener
   */
  accept(
    request: IncomingMessage,
    head: Buffer,
    accepted: AcceptedSocket,
    listener: string,
    onIncoming: (incoming: IncomingSession) => void,
  ): void {
    const { socket } = request;
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    acceptHandshake(request);
    onIncoming(incomingOf(request, accepted, listener, this.settings));
  }
}

function incomingOf(
  request: IncomingMessage,
  { pending, remoteAddress }: AcceptedSocket,
  listener: string,
  settings: ListenSettings,
): IncomingSession {
  const { socket, rawHeaders } = request;
  pending.hold(holdReads(socket));
  const fields = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] as string]] : [],
  );
  const session = webSocketOn(
    socket,
    "server",
    placed(pending, settings.limits, () => session),
  );
  return {
    pending,
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
