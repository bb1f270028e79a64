import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { HttpRequest } from "@quicrpc/quic";
import { Metadata } from "@quicrpc/core";
import type { Peer } from "../peer.js";
import type { HttpCaller } from "./http-package.js";
import type { ListenSettings } from "./listener.js";
import type { AcceptedSocket, SocketName } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** Answers plain HTTP requests, for example `toNodeHandler(handler)` of `@quicrpc/http`. */
export interface HttpListener {
  /** Answers an HTTP/1.1 request. HTTP/2 requests have the same methods (Node's compatibility API). */
  (request: IncomingMessage, response: ServerResponse): void;
  /**
   * Answers HTTP/2 requests through their streams. If undefined, HTTP/2 requests are passed as HTTP/1.1 requests.
   * @param added header fields to add to the response
   */
  http2?(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    added: Readonly<Record<string, string>> | undefined,
  ): void;
  /** Answers plain HTTP/3 requests. If undefined, the server accepts no HTTP/3 requests. */
  http3?(request: HttpRequest): void;
  /**
   * Stops accepting calls and resolves when the calls in progress have ended. If undefined, the server does not wait
   * for HTTP calls.
   */
  drain?(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** The TCP connection on which a request arrived, and its listener. */
export interface RequestOrigin {
  readonly accepted: AcceptedSocket;
  readonly socket: Socket;
  /** URL of the listener. */
  readonly listener: string;
  /** Alternative service to announce in responses (`Alt-Svc`, RFC 7838). Undefined: none. */
  readonly alternative: string | undefined;
}

interface Caller {
  readonly remoteAddress: SocketName | undefined;
  readonly listener: string;
  readonly certificate: () => X509Certificate | undefined;
}

/** HTTP/3 error code H3_NO_ERROR (RFC 9114 §8.1). */
const HTTP3_NO_ERROR = 0x100;

/** Answers the plain HTTP requests of a server's listeners, including health probes. */
export class HttpRequests {
  /** The listener that answers calls over HTTP. Undefined until the server has created it. */
  listener: HttpListener | undefined = undefined;
  private readonly isReady: () => boolean;
  private readonly http3: boolean;

  /**
   * @param isReady returns true if the server accepts calls
   * @param http3 true to accept HTTP/3 requests too
   */
  constructor(isReady: () => boolean, http3: boolean) {
    this.isReady = isReady;
    this.http3 = http3;
  }

  get takesHttp3(): boolean {
    return this.http3 && this.listener?.http3 !== undefined;
  }

  /** True if the listener answers HTTP/2 requests through their streams. */
  get takesStreams(): boolean {
    return this.listener?.http2 !== undefined;
  }

  /** Answers a request on a TCP connection. From its first request on, the connection counts as a session. */
  serve(origin: RequestOrigin, request: AnyRequest, response: AnyResponse, settings: ListenSettings): void {
    const { accepted, alternative } = origin;
    if (alternative !== undefined && callerOf(accepted) === undefined) response.setHeader("alt-svc", alternative);
    const ownResponse = this.ownAnswer(origin, request.url, settings);
    if (ownResponse !== undefined) {
      respond(response, ownResponse, request.httpVersionMajor === 1);
      return;
    }
    noteCaller(request, callerOf(accepted));
    noteRequest(accepted, response);
    this.listener?.(request as IncomingMessage, response as ServerResponse);
  }

  takeHttp2(
    origin: RequestOrigin,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    settings: ListenSettings,
  ): void {
    const { accepted, alternative } = origin;
    const added =
      alternative === undefined || callerOf(accepted) !== undefined ? undefined : { "alt-svc": alternative };
    const ownResponse = this.ownAnswer(origin, headers[":path"], settings);
    if (ownResponse !== undefined) {
      const [status, text, fields = PROBE_FIELDS] = ownResponse;
      stream.on("error", () => {});
      stream.respond({ ":status": status, ...fields, ...added });
      stream.end(`${text}\n`);
      // Nobody reads what still comes.
      stream.resume();
      return;
    }
    noteCaller(stream, callerOf(accepted));
    noteRequest(accepted, stream);
    this.listener?.http2?.(stream, headers, added);
  }

  /**
   * Answers an HTTP/3 request. The QUIC engine counts its connection.
   * @param listener URL of the listener
   */
  takeHttp3(request: HttpRequest, listener: string): void {
    const { path, fields, session } = request;
    const refusal: Answer | undefined = fields.length > MAX_HEADER_FIELDS ? [431, "too many header fields"] : undefined;
    const ownResponse = refusal ?? this.probe(path);
    if (ownResponse !== undefined) {
      const [status, text] = ownResponse;
      request.respond(status, PROBE_FIELDS, Buffer.from(`${text}\n`), true);
      request.stream.stopSending(HTTP3_NO_ERROR);
      return;
    }
    const { remoteAddress } = session;
    noteCaller(request, { remoteAddress, listener, certificate: () => session.peerCertificate });
    this.listener?.http3?.(request);
  }

  /** Returns the address of a request's client. Behind a trusted proxy, returns the address that the proxy reports. */
  addressOf(request: unknown): string | undefined {
    return callerOf(request)?.remoteAddress?.host;
  }

  /** Returns the client of a request as the `Peer` that `authenticate` of `serve` receives. */
  peerOf({ headers, path, request }: HttpCaller): Peer {
    const caller = callerOf(request);
    return {
      transport: "http",
      listener: caller?.listener ?? "http:",
      remoteAddress: caller?.remoteAddress,
      headers,
      path,
      origin: headers.get("origin") ?? undefined,
      credentials: Promise.resolve(/^Bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]),
      metadata: Promise.resolve(new Metadata()),
      proof: Promise.resolve(undefined),
      certificate: caller?.certificate(),
      earlyData: false,
      handshake: Promise.resolve(),
    };
  }

  /**
   * Returns the response that the server sends itself, without the listener: to a health probe, or a refusal. Returns
   * undefined for any other request.
   */
  private ownAnswer(origin: RequestOrigin, path: string | undefined, settings: ListenSettings): Answer | undefined {
    const probe = this.probe(path);
    if (probe !== undefined) return probe;
    const refusal = certificateRefusal(origin.socket, settings);
    if (refusal !== undefined) return [401, refusal.message];
    if (this.hasRoom(origin)) return undefined;
    return [503, NO_ROOM_BODY, NO_ROOM_FIELDS];
  }

  /** Returns the response to a health probe, or undefined if the path is not that of a probe. */
  private probe(path: string | undefined): Answer | undefined {
    if (path === "/healthz") return [200, "ok"];
    if (path !== "/readyz") return undefined;
    return this.isReady() ? [200, "ready"] : [503, "draining"];
  }

  private hasRoom({ accepted, socket, listener }: RequestOrigin): boolean {
    if (callerOf(accepted) !== undefined) return true;
    if (!accepted.pending.greeted()) return false;
    const { remoteAddress } = accepted;
    noteCaller(accepted, { remoteAddress, listener, certificate: () => verifiedCertificate(socket) });
    return true;
  }
}

/**
 * Property that stores the caller on a request and on its connection. A WeakMap is not used, because each garbage
 * collection would scan it.
 */
const CALLER = Symbol("quicrpc.caller");

function noteCaller(peer: object, caller: Caller | undefined): void {
  (peer as { [CALLER]?: Caller | undefined })[CALLER] = caller;
}

/** Marks a connection as busy until `response` is closed. */
function noteRequest({ pending }: AcceptedSocket, response: AnyResponse | ServerHttp2Stream): void {
  pending.requestBegan();
  response.once("close", () => pending.requestEnded());
}

function callerOf(peer: unknown): Caller | undefined {
  return (peer as { readonly [CALLER]?: Caller } | undefined)?.[CALLER];
}

/** Status, body text and header fields of a response. Without header fields, `PROBE_FIELDS` are sent. */
type Answer = readonly [status: number, text: string, fields?: Readonly<Record<string, string>>];

const PROBE_FIELDS = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

/**
 * Body of the response with status 503 to a call on a connection that exceeds the connection limit. The client repeats
 * the call once another connection has closed.
 */
export const NO_ROOM_BODY = `{"code":"resource_exhausted","message":"the server has as many connections as it takes, of all or of this address (transport.maxSessions, maxSessionsPerAddress, maxHandshakes)"}`;
export const NO_ROOM_FIELDS = { "content-type": "application/json", "quicrpc-refused": "1", "retry-after": "1" };

function respond(response: AnyResponse, [status, text, fields = PROBE_FIELDS]: Answer, isHttp1: boolean): void {
  // The server closes a connection without room soon, so a further request on it would be lost.
  const closing = isHttp1 && fields === NO_ROOM_FIELDS ? { connection: "close" } : undefined;
  // Both kinds of responses have this method, but TypeScript does not infer that.
  (response as ServerResponse).writeHead(status, { ...fields, ...closing });
  (response as ServerResponse).end(`${text}\n`);
}

/**
 * Maximum number of header fields in a request. Node silently drops fields beyond its own limit, so the server's limit
 * is one higher.
 */
export const MAX_HEADER_FIELDS = 100;

/**
 * Milliseconds without a request after which the server closes an HTTP connection. It is longer than the minute after
 * which clients and proxies usually close idle connections, because a request that arrives while the server closes the
 * connection fails, although the server may have processed it.
 */
export const HTTP_IDLE_MS = 120_000;
