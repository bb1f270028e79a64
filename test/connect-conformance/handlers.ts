// The suite's service, as its documentation describes it.
import { fromJson, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { type CallContext, type Metadata, RpcError } from "@quicrpc/core";
import { isCode } from "@quicrpc/core/internal";
import { type ConnectDetail, type HttpPeer, withConnectDetails } from "@quicrpc/http";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  Answer,
  ConformanceHandlers,
  ErrorDefinition,
  Header,
  RequestInfo,
  StreamRequest,
  UnaryRequest,
} from "./generated/conformance.js";
import { AnySchema, described, registry } from "./messages.js";

type Context = CallContext<HttpPeer>;
type Any = Record<string, JsonValue>;

const TYPES = "type.googleapis.com/connectrpc.conformance.v1";

/** A request as the suite wants it back. */
function echoOf(type: string, request: UnaryRequest | StreamRequest): Any {
  return { "@type": `${TYPES}.${type}`, ...(plain(request) as JsonObject) };
}

/** A value in the JSON of Protocol Buffers. */
export function plain(value: unknown): JsonValue {
  return JSON.parse(
    JSON.stringify(value, (_, each: unknown) => {
      if (each instanceof Uint8Array) return Buffer.from(each).toString("base64");
      return typeof each === "bigint" ? String(each) : each;
    }),
  ) as JsonValue;
}

function infoOf({ metadata, deadline, connection }: Context, requests: Any[]): RequestInfo {
  const names = [...new Set(Array.from(metadata, ([name]) => name))];
  const requestHeaders = names.map((name) => ({
    name,
    value: metadata.getAll(name).map((value) => (typeof value === "string" ? value : unpadded(value))),
  }));
  const { searchParams } = new URL(connection.path, "http://localhost");
  const queryParams = Array.from(searchParams, ([name, value]) => ({ name, value: [value] }));
  return {
    requestHeaders,
    requests,
    ...(deadline !== undefined && { timeoutMs: BigInt(Math.max(0, deadline - Date.now())) }),
    ...(queryParams.length > 0 && { connectGetInfo: { queryParams } }),
  };
}

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replace(/=+$/, "");
}

function append(headers: readonly Header[] | undefined, to: Metadata): void {
  for (const { name = "", value = [] } of headers ?? []) {
    for (const each of value) to.append(name, name.endsWith("-bin") ? Buffer.from(each, "base64") : each);
  }
}

function errorOf({ code = "CODE_UNKNOWN", message = "", details = [] }: ErrorDefinition, info?: RequestInfo): RpcError {
  const name = code.replace("CODE_", "").toLowerCase().replace("canceled", "cancelled");
  const all: ConnectDetail[] = details.map((detail) => {
    const { typeUrl, value } = fromJson(AnySchema, detail as JsonValue, { registry });
    return { type: typeUrl.replace(/^.*\//, ""), value };
  });
  if (info !== undefined) {
    const type = described("ConformancePayload.RequestInfo");
    all.push({ type: type.typeName, value: toBinary(type, fromJson(type, plain(info), { registry })) });
  }
  return withConnectDetails(new RpcError(isCode(name) ? name : "unknown", message), all);
}

async function unary(requests: readonly UnaryRequest[], type: string, context: Context): Promise<Answer> {
  const definition = requests[0]?.responseDefinition;
  const info = infoOf(
    context,
    requests.map((request) => echoOf(type, request)),
  );
  append(definition?.responseHeaders, context.responseMetadata);
  append(definition?.responseTrailers, context.trailers);
  if (definition?.responseDelayMs !== undefined) await sleep(definition.responseDelayMs);
  if (definition?.error !== undefined) throw errorOf(definition.error, info);
  return { payload: { data: definition?.responseData, requestInfo: info } };
}

export const handlers: ConformanceHandlers<HttpPeer> = {
  Unary: (request, context) => unary([request], "UnaryRequest", context),
  IdempotentUnary: (request, context) => unary([request], "IdempotentUnaryRequest", context),
  async ClientStream(requests, context) {
    const all: UnaryRequest[] = [];
    for await (const request of requests) all.push(request);
    return unary(all, "ClientStreamRequest", context);
  },
  async *ServerStream(request, context) {
    const { responseDefinition: definition } = request;
    if (definition === undefined) return;
    append(definition.responseHeaders, context.responseMetadata);
    append(definition.responseTrailers, context.trailers);
    const info = infoOf(context, [echoOf("ServerStreamRequest", request)]);
    const { responseData = [], responseDelayMs = 0, error } = definition;
    if (responseData.length > 0) context.sendResponseMetadata();
    for (const [at, data] of responseData.entries()) {
      await sleep(responseDelayMs);
      yield { payload: { data, ...(at === 0 && { requestInfo: info }) } };
    }
    if (error !== undefined) throw errorOf(error, responseData.length === 0 ? info : undefined);
  },
  async *BidiStream(requests, context) {
    let definition: StreamRequest["responseDefinition"];
    let fullDuplex = false;
    let first = true;
    let sent = 0;
    let echoes: Any[] = [];
    const { timeoutMs } = infoOf(context, []);
    const info = (): RequestInfo => ({ ...infoOf(context, echoes), ...(timeoutMs !== undefined && { timeoutMs }) });
    for await (const request of requests) {
      echoes.push(echoOf("BidiStreamRequest", request));
      if (first) {
        first = false;
        ({ responseDefinition: definition, fullDuplex = false } = request);
        append(definition?.responseHeaders, context.responseMetadata);
        append(definition?.responseTrailers, context.trailers);
        if (fullDuplex && (definition?.responseData?.length ?? 0) > 0) context.sendResponseMetadata();
      }
      if (!fullDuplex) continue;
      const data = definition?.responseData?.[sent];
      if (data === undefined) break;
      await sleep(definition?.responseDelayMs ?? 0);
      yield { payload: { data, requestInfo: sent === 0 ? info() : { requests: echoes } } };
      sent++;
      echoes = [];
    }
    const { responseData = [], responseDelayMs = 0, error } = definition ?? {};
    if (sent < responseData.length) context.sendResponseMetadata();
    for (; sent < responseData.length; sent++) {
      await sleep(responseDelayMs);
      yield { payload: { data: responseData[sent], ...(sent === 0 && { requestInfo: info() }) } };
    }
    if (error !== undefined) throw errorOf(error, sent === 0 ? info() : undefined);
  },
  Unimplemented() {
    throw new RpcError("unimplemented", "the method is not implemented");
  },
};
