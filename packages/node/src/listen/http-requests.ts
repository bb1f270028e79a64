import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { HttpRequest } from "@quicrpc/quic";
import { Metadata } from "@quicrpc/core";
import type { Peer } from "../peer.js";
import type { HttpCaller } from "./http-package.js";
import type { ListenSettings } from "./listener.js";
import { MAX_HEADER_FIELDS } from "./limits.js";
import type { Guest, SocketName } from "./socket-server.js";
import { certificateRefusal, verifiedCertificate } from "./client-certificate.js";

/** A request of HTTP/1.1, or of HTTP/2. */
export type AnyRequest = IncomingMessage | Http2ServerRequest;
/** Its answer. */
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** Answers requests of plain HTTP: `toNodeHandler(handler)` of `@quicrpc/http`, for one. */
export interface HttpListener {
  /** Those of HTTP/2 have the same methods (Node's compatibility API). */
  (request: IncomingMessage, response: ServerResponse): void;
  /**
   * Answers requests of HTTP/2 by their streams. Default: they come in the shape of HTTP/1.1.
   * @param added fields that the answer has besides
   */
  http2?(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    added: Readonly<Record<string, string>> | undefined,
  ): void;
  /** Answers requests of plain HTTP/3. Default: the server takes none. */
  http3?(request: HttpRequest): void;
  /** Takes no more calls, and fulfils when those in progress are over. Default: nobody waits for them. */
  drain?(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** The TCP connection that a request came by. */
export interface RequestOrigin {
  readonly guest: Guest;
  readonly socket: Socket;
  /** The URL of the listener. */
  readonly listener: string;
  /** Where else the same is served, for clients to be told (RFC 7838). */
  readonly alternative: string | undefined;
}

/** The client of a request. */
interface Caller {
  readonly remoteAddress: SocketName | undefined;
  readonly listener: string;
  readonly certificate: () => X509Certificate | undefined;
}

/** Error code of HTTP/3 for what is no error (RFC 9114 §8.1). */
const HTTP3_NO_ERROR = 0x100;

/** Requests of plain HTTP at the listeners of one server, and the probes of whoever runs it. */
export class HttpRequests {
  /** Undefined until there is one. */
  listener: HttpListener | undefined = undefined;
  private readonly isReady: () => boolean;
  private readonly http3: boolean;

  /**
   * @param isReady whether the server takes calls
   * @param http3 whether it is to take requests of HTTP/3 as well
   */
  constructor(isReady: () => boolean, http3: boolean) {
    this.isReady = isReady;
    this.http3 = http3;
  }

  /** Whether requests of HTTP/3 are taken. */
  get takesHttp3(): boolean {
    return this.http3 && this.listener?.http3 !== undefined;
  }

  /** Whether requests of HTTP/2 are taken as streams. */
  get takesStreams(): boolean {
    return this.listener?.http2 !== undefined;
  }

  /** Answers a request of a connection, which counts as a session from its first request on. */
  take(origin: RequestOrigin, request: AnyRequest, response: AnyResponse, settings: ListenSettings): void {
    const { guest, alternative } = origin;
    if (alternative !== undefined && callerOf(guest) === undefined) response.setHeader("alt-svc", alternative);
    const own = this.ownAnswer(origin, request.url, settings);
    if (own !== undefined) {
      answer(response, ...own);
      return;
    }
    noteCaller(request, callerOf(guest));
    this.listener?.(request as IncomingMessage, response as ServerResponse);
  }

  /** Answers a request of HTTP/2 by its stream. */
  takeHttp2(
    origin: RequestOrigin,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    settings: ListenSettings,
  ): void {
    const { guest, alternative } = origin;
    const added = alternative === undefined || callerOf(guest) !== undefined ? undefined : { "alt-svc": alternative };
    const own = this.ownAnswer(origin, headers[":path"], settings);
    if (own !== undefined) {
      const [status, text] = own;
      stream.on("error", () => {});
      stream.respond({ ":status": status, ...PROBE_FIELDS, ...added });
      stream.end(`${text}\n`);
      // Nobody reads what still comes.
      stream.resume();
      return;
    }
    noteCaller(stream, callerOf(guest));
    this.listener?.http2?.(stream, headers, added);
  }

  /**
   * Answers a request of HTTP/3, whose connection the engine counts.
   * @param listener its URL
   */
  takeHttp3(request: HttpRequest, listener: string): void {
    const { path, fields, session } = request;
    const refusal: Answer | undefined = fields.length > MAX_HEADER_FIELDS ? [431, "too many header fields"] : undefined;
    const own = refusal ?? this.probe(path);
    if (own !== undefined) {
      const [status, text] = own;
      request.respond(status, PROBE_FIELDS, Buffer.from(`${text}\n`), true);
      request.stream.stopSending(HTTP3_NO_ERROR);
      return;
    }
    const { remoteAddress } = session;
    noteCaller(request, { remoteAddress, listener, certificate: () => session.peerCertificate });
    this.listener?.http3?.(request);
  }

  /** The address of the client that a request is of: behind a proxy, of the one that it speaks for. */
  addressOf(request: unknown): string | undefined {
    return callerOf(request)?.remoteAddress?.host;
  }

  /** The client that a request is of, as `authenticate` of `serve` decides by it. */
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

  /** The answer that is not the listener's to give: a probe's, or a refusal. */
  private ownAnswer(origin: RequestOrigin, path: string | undefined, settings: ListenSettings): Answer | undefined {
    const probe = this.probe(path);
    if (probe !== undefined) return probe;
    const refusal = certificateRefusal(origin.socket, settings);
    if (refusal !== undefined) return [401, refusal.message];
    if (this.hasRoom(origin)) return undefined;
    return [503, "the server has as many sessions as it takes (transport.maxSessions, maxSessionsPerAddress)"];
  }

  /** The answer to whoever runs the server, where a request is theirs. */
  private probe(path: string | undefined): Answer | undefined {
    if (path === "/healthz") return [200, "ok"];
    if (path !== "/readyz") return undefined;
    return this.isReady() ? [200, "ready"] : [503, "draining"];
  }

  private hasRoom({ guest, socket, listener }: RequestOrigin): boolean {
    if (callerOf(guest) !== undefined) return true;
    if (!guest.visit.greeted()) return false;
    const { remoteAddress } = guest;
    noteCaller(guest, { remoteAddress, listener, certificate: () => verifiedCertificate(socket) });
    return true;
  }
}

/**
 * A request has its caller, and so has a connection that has made a request: a WeakMap of all would be looked through in each collection of
 * garbage.
 */
const CALLER = Symbol("quicrpc.caller");

function noteCaller(of: object, caller: Caller | undefined): void {
  (of as { [CALLER]?: Caller | undefined })[CALLER] = caller;
}

function callerOf(of: unknown): Caller | undefined {
  return (of as { readonly [CALLER]?: Caller } | undefined)?.[CALLER];
}

/** Status and text of an answer. */
type Answer = readonly [status: number, text: string];

const PROBE_FIELDS = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

function answer(response: AnyResponse, status: number, text: string): void {
  // The two kinds of answers have it in common, and TypeScript does not see it.
  (response as ServerResponse).writeHead(status, PROBE_FIELDS);
  (response as ServerResponse).end(`${text}\n`);
}
