import { RpcError } from "@quicrpc/core";
import {
  answerText,
  type Bound,
  type CallProtocol,
  type Framing,
  type HttpExchange,
  isStream,
  Match,
  type MessageFormat,
  type ProtocolHost,
  type ProtocolRoutes,
  readHeaders,
  splitTarget,
} from "@quicrpc/http/internal";
import type { HttpProtocol } from "@quicrpc/http";
import { protobufCodec, type ProtobufMethod, type ProtobufService } from "@quicrpc/protobuf";
import { GrpcCall, GrpcWebCall, headFields, withoutOwn } from "./grpc-call.js";
import { HEALTH, health } from "./health.js";
import { DESCRIBE, reflect, REFLECTION, REFLECTION_PATHS } from "./reflection.js";
import { statusOf } from "./status.js";
import { textExchange } from "./text-exchange.js";

/**
 * Serves services to gRPC and gRPC-Web clients, and to Connect clients that use protobuf, at the same port as all other
 * clients. Pass the result as one of the `extensions` of `serve` or `createFetchHandler`. gRPC needs HTTP/2.
 *
 * If the routers include the one of `createHealth`, also answers gRPC health checks; if they include the one of
 * `createReflection`, also answers gRPC reflection. Throws `TypeError` if no router has a method of `services`.
 *
 * @param services exports of the generated protobuf files, such as `arith.protobuf.ts`
 *
 * @example
 * await serve({ url: "https://localhost:4433", routers: [createArithRouter(handlers)], extensions:
 * [grpc(arithProtobuf)] });
 */
export function grpc(...services: readonly ProtobufService[]): HttpProtocol {
  return { serve: (host) => new GrpcRoutes(services, host) };
}

interface Route {
  readonly bound: Bound<unknown>;
  readonly format: MessageFormat;
}

const CONNECT: ReadonlyMap<string, Framing> = new Map([
  ["application/proto", "unary"],
  ["application/connect+proto", "stream"],
]);

/** Matches a gRPC content type. Its groups are "-web" or "-web-text" for gRPC-Web, and the encoding of messages. */
const CONTENT_TYPE = /^application\/grpc(-web(?:-text)?)?(?:\+([a-z0-9.-]+))?$/;

class GrpcRoutes implements ProtocolRoutes {
  private readonly routes: ReadonlyMap<string, Route>;

  constructor(services: readonly ProtobufService[], host: ProtocolHost) {
    const isChecked = host.find(`${HEALTH}/check`) !== undefined;
    const describe = host.find(DESCRIBE);
    const all = isChecked ? [health, ...services] : services;
    const bound = describe && reflect(describe, all);
    const route = bound && { bound, format: formatOf(bound, REFLECTION) };
    this.routes = new Map([
      ...(route === undefined ? [] : REFLECTION_PATHS.map((path): [string, Route] => [path, route])),
      ...all.flatMap((service) => routesOf(service, host, service === health ? HEALTH : service.name)),
    ]);
  }

  owns(path: string): boolean {
    return this.routes.has(path);
  }

  match(exchange: HttpExchange): Match<unknown> | "answered" | undefined {
    const type = exchange.header("content-type")?.toLowerCase();
    if (type?.startsWith("application/") !== true || (exchange.method !== "POST" && !isGrpc(type))) return undefined;
    const base = type.split(";")[0]?.trim() ?? "";
    const { path } = splitTarget(exchange.target);
    const route = this.routes.get(path);
    const framing = CONNECT.get(base);
    if (framing !== undefined) {
      const isServed = route !== undefined && (framing === "stream") === isStream(route.bound.method);
      return isServed ? new Match(route.bound, route.format, framing) : undefined;
    }
    if (!isGrpc(base)) return undefined;
    const [matched, web, codec = "proto"] = base === "application/grpc" ? [base] : (CONTENT_TYPE.exec(base) ?? []);
    if (matched === undefined || codec !== "proto") {
      const types = ["", ...WEB.keys()].map((kind) => `application/grpc${kind}`);
      const accepted = types.flatMap((each) => [each, `${each}+proto`]).join(", ");
      const fields = { "accept-post": accepted };
      return answerText(exchange, 415, `${JSON.stringify(type.slice(0, 200))} is not one of ${accepted}\n`, fields);
    }
    if (exchange.method !== "POST")
      return answerText(exchange, 405, "gRPC calls are POST requests\n", { allow: "POST" });
    if (web === undefined && exchange.supportsTrailers !== true)
      return answerText(exchange, 505, "gRPC needs HTTP/2 here: call over HTTP/2, or use gRPC-Web\n");
    if (route === undefined) return answerUnknown(exchange, path);
    return new Match(route.bound, route.format, "stream", undefined, web === undefined ? GRPC : WEB.get(web));
  }
}

function isGrpc(type: string): boolean {
  return type.startsWith("application/grpc");
}

/**
 * Returns the routes of a service: for each method a path with its name in the `.proto` file, and one with its name in
 * the schema.
 *
 * @param name name in the routers of the service whose methods are called
 */
function routesOf(service: ProtobufService, host: ProtocolHost, name: string): [path: string, route: Route][] {
  return Object.entries(service.methods).flatMap(([key, method]) => {
    const bound = host.find(`${name}/${key}`);
    if (bound === undefined) {
      throw new TypeError(`grpc() has the service ${service.name}, but no router has its method ${key}`);
    }
    const route = { bound, format: formatOf(bound, method) };
    return [...new Set([method.name, key])].map((each): [string, Route] => [`/${service.name}/${each}`, route]);
  });
}

function formatOf({ method }: Bound<unknown>, protobuf: Pick<ProtobufMethod, "input" | "output">): MessageFormat {
  const input = method.input && protobufCodec(method.input, protobuf.input);
  const output = method.output && protobufCodec(method.output, protobuf.output);
  return { name: "proto", codecOf: (_, role) => (role === "input" ? input : output) };
}

const GRPC: CallProtocol = {
  codingHeader: "grpc-encoding",
  accepts({ exchange }) {
    const names = exchange.header("grpc-accept-encoding") ?? exchange.header("grpc-encoding");
    // Clients put "identity" first even if they prefer compression: grpc-js sends "identity,deflate,gzip".
    return names
      ?.split(",")
      .filter((name) => name.trim().toLowerCase() !== "identity")
      .join(",");
  },
  timeoutOf: (exchange) => readTimeout(exchange.header("grpc-timeout")),
  metadataOf: ({ headers }) => withoutOwn(readHeaders(headers)),
  answer: (...given) => new GrpcCall(...given),
};

const GRPC_WEB: CallProtocol = { ...GRPC, answer: (...given) => new GrpcWebCall(...given) };

/** The protocols of gRPC-Web, by the part of the content type that names them. */
const WEB: ReadonlyMap<string, CallProtocol> = new Map([
  ["-web", GRPC_WEB],
  ["-web-text", { ...GRPC_WEB, exchangeOf: textExchange }],
]);

/** Milliseconds per unit of the header `grpc-timeout`. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

function readTimeout(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  const factor = UNITS[unit];
  if (digits !== undefined && factor !== undefined) return Math.ceil(Number(digits) * factor);
  throw new RpcError("invalid_argument", "grpc-timeout is not a number of at most 8 digits and a unit");
}

function answerUnknown(exchange: HttpExchange, path: string): "answered" {
  const error = new RpcError("unimplemented", `${path.slice(0, 200)} is not served by gRPC here`);
  const fields = headFields(exchange.header("content-type"));
  exchange.respond({ status: 200, fields, metadata: statusOf(error, error.message) });
  return "answered";
}
