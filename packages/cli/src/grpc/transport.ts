import { connect } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { type Caller, type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { grpcTransport } from "@quicrpc/grpc";
import { gzip, http2Fetch } from "@quicrpc/http";
import type { TransportProvider } from "@quicrpc/node";
import type { ProtobufService } from "@quicrpc/protobuf";
import {
  type MethodDescription,
  healthMethods,
  type MethodDetails,
  reflectionMethods,
  type ServiceDescription,
} from "@quicrpc/services";
import { connectTrusted } from "../plain-http.js";
import { fetchDescriptors, type GrpcDescriptors, REFLECTION_SERVICES } from "./descriptors.js";
import { schemaOf } from "./json-schema.js";
import { jsonMessage } from "./messages.js";

/** Services that can be called. All sessions of the process are with one server, and need not describe them again. */
const services: ProtobufService[] = [...REFLECTION_SERVICES];

/**
 * Transport provider that calls a gRPC server at a `grpc://` URL, or `grpcs://` for TLS. Messages are canonical proto
 * JSON. The session answers quicrpc.v1.Reflection itself, from the server's gRPC reflection.
 *
 * @param onNotice called for each service that the server lists but does not describe completely
 */
export function grpcProvider(
  url: string,
  compress: boolean | undefined,
  onNotice: (notice: string) => void,
): TransportProvider {
  return {
    name: "gRPC",
    schemes: ["grpc:", "grpcs:"],
    capabilities: { streams: true, headers: true, tls: /^grpcs:/i.test(url) },
    async dial({ href }, options) {
      const target = new URL(href.replace(/^grpc/, "http"));
      const fetch = http2Fetch((_, sessionOptions = {}) =>
        target.protocol === "https:"
          ? connectTrusted(target, options, sessionOptions)
          : connect(target, sessionOptions),
      );
      const compression = compress === true ? { algorithms: [gzip], minBytes: Infinity } : undefined;
      const client = await grpcTransport({ services, fetch, compression }).dial(target, options);
      void client.closed.then(() => fetch.close());
      const reflection = new GrpcReflection(client, onNotice);
      const call = client.start.bind(client);
      const start = ((method: AnyMethod, input: unknown, options?: CallOptions) => {
        if (method.service.name === healthMethods.check.service.name) throw noHealth();
        if (method.service.name !== reflectionMethods.list.service.name) return call(method, input, options);
        if (method.name === "list") return reflection.list(options);
        return reflection.describe(input as { readonly service: string }, options);
      }) as Caller["start"];
      return Object.assign(client, { start });
    },
  };
}

/** The methods of quicrpc.v1.Reflection for a gRPC server. */
class GrpcReflection {
  private readonly client: Caller;
  private readonly onNotice: (notice: string) => void;
  private descriptors: Promise<GrpcDescriptors> | undefined = undefined;

  constructor(client: Caller, onNotice: (notice: string) => void) {
    this.client = client;
    this.onNotice = onNotice;
  }

  async list(options: CallOptions | undefined): Promise<{ services: readonly ServiceDescription[] }> {
    const described = await this.fetched(options);
    return { services: described.services.map(descriptionOf) };
  }

  async describe(
    { service: name }: { readonly service: string },
    options: CallOptions | undefined,
  ): Promise<{ methods: readonly MethodDetails[] }> {
    const described = await this.fetched(options);
    const methods = described.services.find(({ typeName }) => typeName === name)?.methods ?? [];
    return {
      methods: methods.map(({ name, input, output }) => ({ name, input: schemaOf(input), output: schemaOf(output) })),
    };
  }

  private fetched(options: CallOptions | undefined): Promise<GrpcDescriptors> {
    return (this.descriptors ??= this.fetch(options));
  }

  private async fetch(options: CallOptions | undefined): Promise<GrpcDescriptors> {
    const descriptors = await fetchDescriptors(this.client, options);
    // After a reconnection, these replace those of the previous session.
    services.splice(
      REFLECTION_SERVICES.length,
      Infinity,
      ...descriptors.services.map((each) => protobufOf(each, descriptors)),
    );
    for (const [name, reason] of descriptors.unknown)
      this.onNotice(`The server's reflection does not describe ${name}: ${reason}`);
    return descriptors;
  }
}

function protobufOf({ typeName, methods }: DescService, { registry }: GrpcDescriptors): ProtobufService {
  const entries = methods.map(({ name, input, output }) => {
    const method = { name, input: jsonMessage(input, registry), output: jsonMessage(output, registry) };
    return [name, method] as const;
  });
  return { name: typeName, methods: Object.fromEntries(entries) };
}

function descriptionOf({ typeName, methods }: DescService, index: number): ServiceDescription {
  return { name: typeName, id: index + 1, methods: methods.map(methodOf) };
}

const KINDS: Readonly<Record<DescMethod["methodKind"], MethodDescription["kind"]>> = {
  unary: "unary",
  server_streaming: "server_stream",
  client_streaming: "client_stream",
  bidi_streaming: "duplex",
};

function methodOf({ name, methodKind, idempotency }: DescMethod, index: number): MethodDescription {
  return {
    name,
    id: index + 1,
    kind: KINDS[methodKind],
    idempotent: idempotency !== Idempotency.IDEMPOTENCY_UNKNOWN,
    ...(idempotency === Idempotency.NO_SIDE_EFFECTS && { readOnly: true }),
    takes: "value",
    gives: "value",
  };
}

function noHealth(): RpcError {
  return new RpcError("unimplemented", "health works with servers of quicrpc only", {
    hint: "quicrpc call <url> grpc.health.v1.Health/Check asks a gRPC server",
  });
}
