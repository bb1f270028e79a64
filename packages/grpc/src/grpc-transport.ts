import { type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import { CALLER_LIMITS, fullName } from "@quicrpc/core/internal";
import { type Fetch, type HttpCodec, type HttpOptions, type HttpTransport, plainJson } from "@quicrpc/http";
import { HttpClient, transportOf } from "@quicrpc/http/internal";
import { protobufCodec, type ProtobufService } from "@quicrpc/protobuf";
import { grpcFetch } from "./grpc-fetch.js";

/** Options of `grpcTransport`. */
export interface GrpcTransportOptions extends Pick<HttpOptions, "credentials" | "headers" | "compression" | "limits"> {
  /** The services that are called, from generated files such as `arith.protobuf.ts`. */
  readonly services: readonly ProtobufService[];
  /** The function that makes requests: `http2Fetch(connect, { ca })`, with `connect` of `node:http2`. */
  readonly fetch: Fetch;
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
  const settings: ClientOptions = { ...options, uploads: "full", isWeb: false };
  return { ...transportOf(settings, GrpcClient), name: "gRPC" };
}

/**
 * Makes calls by gRPC-Web, in pages too: to a server or proxy that speaks it. Streams of the caller need more of `fetch`
 * than browsers have.
 */
export function grpcWebTransport({ fetch = platformFetch, ...options }: GrpcWebTransportOptions): HttpTransport {
  return { ...transportOf({ ...options, fetch, isWeb: true }, GrpcClient), name: "gRPC-Web" };
}

const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init);

interface ClientOptions extends GrpcTransportOptions, Pick<HttpOptions, "uploads"> {
  readonly isWeb: boolean;
}

/** Messages are encoded by the codecs of their methods, which `GrpcClient` replaces. */
const PROTO: HttpCodec = { ...plainJson, name: "proto", of: (codec) => codec };

class GrpcClient extends HttpClient {
  readonly #services: readonly ProtobufService[];
  /** Methods as they are in `.proto` files. */
  readonly #methods = new Map<AnyMethod, AnyMethod>();

  constructor(url: URL, { services, isWeb, ...options }: ClientOptions) {
    const codings = options.compression?.algorithms.filter((coding) => coding !== undefined) ?? [];
    const { maxFrameBytes: maxBytes, maxMetadataBytes } = { ...CALLER_LIMITS, ...options.limits };
    const fetch = grpcFetch(options.fetch, { isWeb, codings, maxBytes, maxMetadataBytes });
    super(url, { ...options, fetch, codec: PROTO });
    this.#services = services;
  }

  override begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): unknown {
    let known = this.#methods.get(method);
    if (known === undefined) this.#methods.set(method, (known = this.#methodOf(method)));
    return super.begin(known, input, options);
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
