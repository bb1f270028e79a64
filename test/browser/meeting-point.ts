import type { DirectSession } from "@quicrpc/core/transport";
import type { DevCertificate } from "@quicrpc/node";
import { Endpoint, type EndpointStats, type WebTransportSession } from "@quicrpc/quic";
import { type WebSocket, WebSocketServer } from "ws";
import { joinSessions } from "./joined-sessions.js";
import type { Meeting } from "./page/remote.js";

/** RFC 6455 §7.4.1. */
const NORMAL_CLOSURE = 1000;

/** Joins the two ends of a session that are both in a page: each dials, and the second is joined with the first. */
export class MeetingPoint {
  private readonly endpoint: Endpoint;
  private readonly sockets: WebSocketServer;
  private readonly hash: Uint8Array;
  private readonly sessions: Map<string, DirectSession> = new Map();
  private readonly webSockets: Map<string, WebSocket> = new Map();

  private constructor(endpoint: Endpoint, sockets: WebSocketServer, hash: Uint8Array) {
    this.endpoint = endpoint;
    this.sockets = sockets;
    this.hash = hash;
  }

  static async open({ cert, key, hash }: DevCertificate): Promise<MeetingPoint> {
    const endpoint = Endpoint.bind({ host: "127.0.0.1", port: 0 });
    const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await new Promise<void>((listening) => sockets.once("listening", listening));
    const point = new MeetingPoint(endpoint, sockets, hash.value);
    // A page that runs tests of killed sessions ends more of them in a second than one address may have.
    endpoint.listen(
      { tls: { cert, key }, webTransport: {}, transport: { maxHandshakesPerAddress: 900 } },
      (session) => {
        point.arrived((session as WebTransportSession).path, session);
      },
    );
    sockets.on("connection", (socket, { url = "" }) => point.socketArrived(url, socket));
    return point;
  }

  get address(): Meeting {
    return {
      webTransport: `https://127.0.0.1:${this.endpoint.address.port}`,
      webSocket: `ws://127.0.0.1:${(this.sockets.address() as { port: number }).port}`,
      hash: [...this.hash],
    };
  }

  /** Counters of the endpoint, such as `refused` and `failedHandshakes`. */
  get stats(): EndpointStats {
    return this.endpoint.stats();
  }

  async close(): Promise<void> {
    this.sockets.close();
    for (const client of this.sockets.clients) client.terminate();
    await this.endpoint.close();
  }

  /** Two that came for one path meet. */
  private arrived(path: string, session: DirectSession): void {
    const first = this.sessions.get(path);
    if (first === undefined) {
      this.sessions.set(path, session);
      return;
    }
    this.sessions.delete(path);
    joinSessions(first, session);
  }

  private socketArrived(path: string, socket: WebSocket): void {
    const first = this.webSockets.get(path);
    if (first === undefined) {
      socket.pause();
      this.webSockets.set(path, socket);
      return;
    }
    this.webSockets.delete(path);
    passSocket(first, socket);
    passSocket(socket, first);
    first.resume();
  }
}

function passSocket(from: WebSocket, to: WebSocket): void {
  from.on("message", (data, binary) => {
    // The next when this one has left.
    from.pause();
    to.send(data, { binary }, () => from.resume());
  });
  from.on("close", (code, reason) => {
    if (code === NORMAL_CLOSURE) to.close(code, reason);
    else to.terminate();
  });
}
