import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { HTTP_IDLE_MS, MAX_HEADER_FIELDS } from "./http-requests.js";

/** Request header fields with which a client offers to switch to another protocol, such as HTTP/2 without TLS. */
const OFFERS: ReadonlySet<string> = new Set(["upgrade", "http2-settings", "connection"]);

/**
 * Answers requests whose `Upgrade` header names an unsupported protocol as ordinary HTTP/1.1 requests (RFC 9110 §7.8).
 * Uses a second HTTP server for this, because Node stops parsing a connection after its `upgrade` event.
 */
export class WithoutUpgrade {
  private readonly server: Server;

  constructor(onRequest: (request: IncomingMessage, response: ServerResponse) => void) {
    this.server = createServer(onRequest);
    this.server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
    this.server.keepAliveTimeout = HTTP_IDLE_MS;
    // At this event, HTTP servers start to check their time limits.
    this.server.emit("listening");
  }

  /**
   * Answers the request as an ordinary HTTP/1.1 request.
   * @param head bytes that arrived after the request's header
   */
  accept(request: IncomingMessage, socket: Socket, head: Uint8Array): void {
    socket.unshift(Buffer.concat([Buffer.from(headOf(request), "latin1"), head]));
    this.server.emit("connection", socket);
  }

  stop(): void {
    this.server.close();
  }
}

function headOf({ method = "GET", url = "/", httpVersion, headers, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!OFFERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? "")) lines.push("Connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}
