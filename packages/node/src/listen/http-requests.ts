import type { IncomingMessage, ServerResponse } from "node:http";
import type { Guest } from "./socket-server.js";

/** What answers requests of plain HTTP: `toNodeHandler(handler)` of `@quicrpc/http`, for one. */
export interface HttpListener {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Takes no more calls, and fulfils when those in progress are over. Default: nobody waits for them. */
  drain?(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** Requests of plain HTTP at the listeners of one server, and the probes of whoever runs it. */
export class HttpRequests {
  private readonly listener: HttpListener;
  private readonly isReady: () => boolean;
  /** Connections that have made a request. */
  private readonly known: WeakSet<Guest> = new WeakSet();

  /** @param isReady whether the server takes calls */
  constructor(listener: HttpListener, isReady: () => boolean) {
    this.listener = listener;
    this.isReady = isReady;
  }

  /** Answers a request of a connection, which counts as a session from its first request on. */
  take(guest: Guest, request: IncomingMessage, response: ServerResponse): void {
    const { url } = request;
    if (url === "/healthz") answer(response, 200, "ok");
    else if (url === "/readyz") answer(response, this.isReady() ? 200 : 503, this.isReady() ? "ready" : "draining");
    else if (!this.hasRoom(guest))
      answer(response, 503, "the server has as many sessions as it takes (transport.maxSessions)");
    else this.listener(request, response);
  }

  private hasRoom(guest: Guest): boolean {
    if (this.known.has(guest)) return true;
    if (!guest.visit.greeted()) return false;
    this.known.add(guest);
    return true;
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(`${text}\n`);
}
