import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import { Metadata } from "@quicrpc/core";
import type { Peer } from "../peer.js";
import type { HttpCaller } from "./http-package.js";
import type { ListenSettings } from "./listener.js";
import type { Guest } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";

/** A request of HTTP/1.1, or of HTTP/2. */
export type AnyRequest = IncomingMessage | Http2ServerRequest;
/** Its answer. */
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** Answers requests of plain HTTP: `toNodeHandler(handler)` of `@quicrpc/http`, for one. */
export interface HttpListener {
  /** Those of HTTP/2 have the same methods (Node's compatibility API). */
  (request: IncomingMessage, response: ServerResponse): void;
  /** Takes no more calls, and fulfils when those in progress are over. Default: nobody waits for them. */
  drain?(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** The connection that a request came by. */
export interface RequestOrigin {
  readonly guest: Guest;
  readonly socket: Socket;
  /** The URL of the listener. */
  readonly listener: string;
}

/** Requests of plain HTTP at the listeners of one server, and the probes of whoever runs it. */
export class HttpRequests {
  /** Undefined until there is one. */
  listener: HttpListener | undefined = undefined;
  private readonly isReady: () => boolean;
  /** Connections that have made a request. */
  private readonly known: WeakSet<Guest> = new WeakSet();
  private readonly origins: WeakMap<object, RequestOrigin> = new WeakMap();

  /** @param isReady whether the server takes calls */
  constructor(isReady: () => boolean) {
    this.isReady = isReady;
  }

  /** Answers a request of a connection, which counts as a session from its first request on. */
  take(origin: RequestOrigin, request: AnyRequest, response: AnyResponse, settings: ListenSettings): void {
    const { url } = request;
    const refusal = certificateRefusal(origin.socket, settings);
    if (url === "/healthz") answer(response, 200, "ok");
    else if (url === "/readyz") answer(response, this.isReady() ? 200 : 503, this.isReady() ? "ready" : "draining");
    else if (refusal !== undefined) answer(response, 401, refusal.message);
    else if (!this.hasRoom(origin.guest))
      answer(response, 503, "the server has as many sessions as it takes (transport.maxSessions)");
    else {
      this.origins.set(request, origin);
      this.listener?.(request as IncomingMessage, response as ServerResponse);
    }
  }

  /** The client that a request is of, as `authenticate` of `serve` decides by it. */
  peerOf({ headers, path, request }: HttpCaller): Peer {
    const origin = this.origins.get(request as object);
    return {
      transport: "http",
      listener: origin?.listener ?? "http:",
      remoteAddress: origin?.guest.remoteAddress,
      headers,
      path,
      origin: headers.get("origin") ?? undefined,
      credentials: Promise.resolve(/^Bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]),
      metadata: Promise.resolve(new Metadata()),
      certificate: origin && verifiedCertificate(origin.socket),
      earlyData: false,
      handshake: Promise.resolve(),
    };
  }

  private hasRoom(guest: Guest): boolean {
    if (this.known.has(guest)) return true;
    if (!guest.visit.greeted()) return false;
    this.known.add(guest);
    return true;
  }
}

function answer(response: AnyResponse, status: number, text: string): void {
  const fields = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  // The two kinds of answers have it in common, and TypeScript does not see it.
  (response as ServerResponse).writeHead(status, fields);
  (response as ServerResponse).end(`${text}\n`);
}
