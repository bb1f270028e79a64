import { type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import { fullName, type PendingCall, type UnsharedBytes } from "@quicrpc/core/internal";
import {
  type Fetch,
  type FetchInit,
  type Http2Fetch,
  type HttpCodec,
  type HttpOptions,
  type HttpTransport,
  plainJson,
} from "@quicrpc/http";
import {
  ENVELOPE_COMPRESSED,
  headersOf,
  HttpClient,
  type HttpClientCall,
  leaveUnread,
  lostRequest,
  oneEnvelope,
  type ResponseHead,
  transportOf,
  unreached,
  UploadedItems,
} from "@quicrpc/http/internal";
import { protobufCodec, type ProtobufService } from "@quicrpc/protobuf";
import { GrpcResponse } from "./grpc-response.js";
import type { SentCall } from "./grpc-stream.js";

/** Options of `grpcTransport`. */
export interface GrpcTransportOptions extends Pick<HttpOptions, "credentials" | "headers" | "compression" | "limits"> {
  /** The services that are called, from generated files such as `arith.protobuf.ts`. */
  readonly services: readonly ProtobufService[];
  /** The sessions on which requests are made: `http2Fetch(connect, { ca })`, with `connect` of `node:http2`. */
  readonly fetch: Http2Fetch;
}

/** Options of `grpcWebTransport`. */
export interface GrpcWebTransportOptions extends Omit<GrpcTransportOptions, "fetch">, Pick<HttpOptions, "uploads"> {
  /** The function that makes requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/**
 * Makes calls by gRPC, to a server in any language, in Node. All calls to one server share an HTTP/2 connection.
 *
 * @example
 * const transport = grpcTransport({ services: [arithProtobuf], fetch: http2Fetch(connect) });
 * const arith = createArithClient(transport.caller("https://orders.example"));
 */
export function grpcTransport(options: GrpcTransportOptions): HttpTransport {
  return { ...transportOf(options, Http2Client), name: "gRPC" };
}

/**
 * Makes calls by gRPC-Web, in pages too: to a server or proxy that speaks it. Streams of the caller need more of `fetch`
 * than browsers have.
 */
export function grpcWebTransport(options: GrpcWebTransportOptions): HttpTransport {
  return { ...transportOf(options, WebClient), name: "gRPC-Web" };
}

/** Messages are encoded by the codecs of their methods, which `GrpcClient` replaces. */
const PROTO: HttpCodec = { ...plainJson, name: "proto", of: (codec) => codec };

type Fields = Readonly<Record<string, string>>;

abstract class GrpcClient extends HttpClient {
  readonly #services: readonly ProtobufService[];
  /** Methods as they are in `.proto` files. */
  readonly #methods = new Map<AnyMethod, AnyMethod>();
  readonly #codingNames: string;

  constructor(url: URL, { services, ...options }: GrpcWebTransportOptions) {
    super(url, { ...options, codec: PROTO });
    this.#services = services;
    this.#codingNames = this.codings.map(({ name }) => name).join(",");
  }

  /** Sends a request. `body` is undefined if the caller streams its messages. */
  protected abstract open(
    call: HttpClientCall,
    fields: Fields,
    body: UnsharedBytes | undefined,
  ): SentCall | Promise<SentCall>;

  override begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): unknown {
    let known = this.#methods.get(method);
    if (known === undefined) this.#methods.set(method, (known = this.#methodOf(method)));
    return super.begin(known, input, options);
  }

  protected override async unary(call: HttpClientCall, input: unknown): Promise<unknown> {
    const { response } = await this.#send(call, await oneEnvelope(call, input));
    return response.only();
  }

  protected override async stream(call: HttpClientCall, input: unknown, pending: PendingCall): Promise<void> {
    const { callStream } = await import("./grpc-stream.js");
    await callStream(call, input, pending, (body) => this.#send(call, body));
  }

  #send(call: HttpClientCall, body: UnsharedBytes | undefined): Promise<SentCall> {
    return call.request(call.headers, () => {
      if (call.over) throw new RpcError("cancelled", "the call is over");
      return this.open(call, this.#fieldsOf(call, body), body);
    });
  }

  /** Returns the header fields of a request, made from those that `HttpClientCall` has for the Connect protocol. */
  #fieldsOf({ headers }: HttpClientCall, body: UnsharedBytes | undefined): Fields {
    const isKept = ([name]: [string, string]): boolean => !/^(connect-|grpc-|content-(type|encoding)$)/.test(name);
    const fields = Object.fromEntries(Array.from(headers).filter(isKept));
    const timeoutMs = headers.get("connect-timeout-ms");
    if (timeoutMs !== null) fields["grpc-timeout"] = timeoutOf(timeoutMs);
    const [first] = this.codings;
    if (first !== undefined) {
      fields["grpc-accept-encoding"] = this.#codingNames;
      if (body === undefined || body[0] === ENVELOPE_COMPRESSED) fields["grpc-encoding"] = first.name;
    }
    return fields;
  }

  /** Returns a method with its name and messages in protobuf. Without them, its calls fail. */
  #methodOf(method: AnyMethod): AnyMethod {
    try {
      const service = this.#services.find(({ name }) => name === method.service.name);
      const protobuf = service?.methods[method.name];
      if (protobuf === undefined) {
        const hint = "pass the service of its generated .protobuf.ts file to grpcTransport()";
        throw new RpcError("unimplemented", `${fullName(method)} has no messages in protobuf here`, { hint });
      }
      const input = method.input && protobufCodec(method.input, protobuf.input);
      const output = method.output && protobufCodec(method.output, protobuf.output);
      return { ...method, name: protobuf.name, input, output };
    } catch (error) {
      const refuse = (): never => {
        throw error;
      };
      const codec: MessageCodec<unknown> = { encode: refuse, decode: refuse };
      return { ...method, input: codec, output: codec };
    }
  }
}

/** Returns a time, which has at most 8 digits. */
function timeoutOf(milliseconds: string): string {
  return milliseconds.length > 8 ? `${Math.floor(Number(milliseconds) / 1000)}S` : `${milliseconds}m`;
}

const NO_ERROR = 0;
const CANCEL = 8;

class Http2Client extends GrpcClient {
  readonly #fetch: Http2Fetch;
  readonly #url: URL;

  constructor(url: URL, options: GrpcTransportOptions) {
    super(url, options);
    this.#fetch = options.fetch;
    this.#url = new URL(this.base);
  }

  /**
   * Sends a PING of HTTP/2 and resolves with the milliseconds until its acknowledgement. A proxy between answers it in
   * place of the server.
   */
  ping(): Promise<number> {
    return this.#fetch.ping(this.#url.origin).catch((cause: unknown) => {
      const hint =
        "is a gRPC server running at this URL, is its certificate trusted, and does it use TLS as the URL says?";
      throw unreached(new TypeError("fetch failed", { cause }), this.peer, hint);
    });
  }

  protected open(call: HttpClientCall, fields: Fields, body: UnsharedBytes | undefined): SentCall {
    const { origin, pathname } = this.#url;
    const headers = {
      ":method": "POST",
      ":path": pathname + fullName(call.method),
      "content-type": "application/grpc",
      te: "trailers",
      ...fields,
    };
    const stream = this.#fetch.request(origin, headers, body === undefined ? call.controller.signal : undefined);
    const response = new GrpcResponse(call, false, stream);
    stream.on("response", (head: ResponseHead) => {
      try {
        response.onHead({ status: Number(head[":status"]), headers: headersOf(head) });
      } catch (cause) {
        call.fail(new RpcError("unknown", "the server has sent an invalid head of a response", { cause }));
      }
    });
    stream.on("data", (bytes: Uint8Array) => response.onBytes(bytes));
    stream.on("trailers", (trailers: ResponseHead) => response.onTrailers(headersOf(trailers)));
    stream.on("end", () => {
      // Node also emits "end" for a reset stream; "close" follows.
      if ((stream.rstCode ?? NO_ERROR) !== NO_ERROR) return;
      response.onEnd();
      if (response.hasEnded) leaveUnread(stream);
    });
    stream.on("error", (error: Error) => response.onLost(lostRequest(stream, error)));
    stream.on("close", () => response.onLost());
    if (body !== undefined) {
      call.controller.abort = () => stream.close(CANCEL);
      stream.end(body);
      return { response, upload: undefined };
    }
    const upload = new UploadedItems(call, {
      get desiredSize() {
        return stream.writableNeedDrain ? 0 : 1;
      },
      enqueue: (bytes) => stream.write(bytes),
      close: () => stream.end(),
      // While the response is incomplete, the call's signal resets the stream.
      error: () => void (response.hasEnded && stream.close(NO_ERROR)),
    });
    stream.on("drain", () => upload.resume());
    return { response, upload };
  }
}

class WebClient extends GrpcClient {
  protected async open(call: HttpClientCall, fields: Fields, body: UnsharedBytes | undefined): Promise<SentCall> {
    const headers = new Headers({ ...fields, "content-type": "application/grpc-web+proto", "x-grpc-web": "1" });
    const { upload, body: sentBody } =
      body === undefined ? (await this.later()).uploadStream(call) : { upload: undefined, body };
    let onResumed: (() => void) | undefined;
    let resumed: Promise<void> | undefined;
    const response = new GrpcResponse(call, true, {
      pause() {
        resumed = new Promise((resolve) => (onResumed = resolve));
      },
      resume() {
        resumed = undefined;
        onResumed?.();
      },
    });
    const { fetch = globalThis.fetch } = this.options;
    const sent = fetch(this.base + fullName(call.method), {
      method: "POST",
      headers,
      body: sentBody,
      signal: call.controller.signal,
      ...(upload === undefined ? { redirect: "manual" } : { duplex: "half", redirect: "error", window: null }),
    } satisfies FetchInit);
    const receive = async (): Promise<void> => {
      const received = await sent;
      if (!response.onHead(received)) return;
      const reader = received.body?.getReader();
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
        response.onBytes(read.value);
        await resumed;
      }
      response.onEnd();
    };
    receive().catch((error: unknown) => response.onLost(error));
    return { response, upload };
  }
}
