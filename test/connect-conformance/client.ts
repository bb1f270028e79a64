// The client under test: reads descriptions of calls from stdin, and writes their results to stdout.
import {
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type CallOptions, createCaller, Metadata, RpcError, type TypedCaller } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { grpcTransport, grpcWebTransport } from "@quicrpc/grpc";
import { connectDetails, type Fetch, gzip, http2Fetch, httpTransport, jsonCodecOf, plainJson } from "@quicrpc/http";
import { connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { readMessage, writeMessage } from "./framing.js";
import { conformanceMethods } from "./generated/conformance.js";
import { described, registry } from "./messages.js";
import { conformanceProtobuf } from "./protobuf.js";

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface CompatRequest extends Message {
  readonly testName: string;
  readonly httpVersion: number;
  readonly protocol: number;
  readonly compression: number;
  readonly host: string;
  readonly port: number;
  readonly serverTlsCert: Uint8Array;
  readonly messageReceiveLimit: number;
  readonly method: string;
  readonly streamType: number;
  readonly useGetHttpMethod: boolean;
  readonly requestHeaders: readonly Header[];
  readonly requestMessages: readonly { readonly typeUrl: string; readonly value: Uint8Array }[];
  readonly timeoutMs?: number;
  readonly requestDelayMs: number;
  readonly cancel?: {
    readonly beforeCloseSend?: object;
    readonly afterCloseSendMs?: number;
    readonly afterNumResponses?: number;
  };
}

/** Result of a call, in the JSON of Protocol Buffers. */
interface Result {
  responseHeaders: JsonObject[];
  responseTrailers: JsonObject[];
  payloads: JsonValue[];
  error?: JsonObject;
  numUnsentRequests: number;
}

const HTTP_2 = 2;
const GRPC = 2;
const GRPC_WEB = 3;
const GZIP = 2;
const FULL_DUPLEX = 5;
/** Calls in progress at once. */
const MOST = 16;

/** The platform's agents, which have no name there. */
interface Agents {
  readonly [key: symbol]: { readonly constructor: unknown } | undefined;
}

/** Returns the platform's `fetch`, made to trust a certificate. */
function http1Fetch(ca: string | undefined): Fetch {
  const agents = globalThis as unknown as Agents;
  const Agent = agents[Symbol.for("undici.globalDispatcher.1")]?.constructor as new (options: object) => unknown;
  const dispatcher = new Agent({ connect: { ca } });
  return (url, init) => fetch(url, { ...init, dispatcher } as RequestInit);
}

function callerFor(request: CompatRequest): { readonly caller: TypedCaller; readonly close: () => void } {
  const { host, port, serverTlsCert, httpVersion, protocol } = request;
  const { compression, messageReceiveLimit, useGetHttpMethod } = request;
  const ca = serverTlsCert.length > 0 ? Buffer.from(serverTlsCert).toString() : undefined;
  const overHttp2 = http2Fetch(connect, ca === undefined ? {} : { ca });
  const options = {
    fetch: httpVersion === HTTP_2 ? overHttp2 : http1Fetch(ca),
    ...(compression === GZIP && { compression: { algorithms: [gzip], minBytes: 0 } }),
    ...(messageReceiveLimit > 0 && { limits: { maxFrameBytes: messageReceiveLimit } }),
  };
  const services = [conformanceProtobuf];
  const transport =
    protocol === GRPC
      ? grpcTransport({ ...options, fetch: overHttp2, services })
      : protocol === GRPC_WEB
        ? grpcWebTransport({ ...options, uploads: "full", services })
        : httpTransport({ ...options, uploads: "full", codec: plainJson, get: useGetHttpMethod });
  const client = transport.caller(`${ca === undefined ? "http" : "https"}://${host}:${port}`);
  const caller = createCaller((method, input, options) => client.start(method, input, options));
  return { caller, close: () => overHttp2.close() };
}

function metadataOf(headers: readonly Header[]): Metadata {
  const metadata = new Metadata();
  for (const { name, value } of headers) {
    for (const each of value) metadata.append(name, name.endsWith("-bin") ? Buffer.from(each, "base64") : each);
  }
  return metadata;
}

function headersOf(metadata: Metadata): JsonObject[] {
  const text = (value: string | Uint8Array): string =>
    typeof value === "string" ? value : Buffer.from(value).toString("base64").replace(/=+$/, "");
  const names = [...new Set(Array.from(metadata, ([name]) => name))];
  return names.map((name) => ({ name, value: metadata.getAll(name).map(text) }));
}

function errorOf(thrown: unknown): JsonObject {
  const error = RpcError.from(thrown);
  return {
    code: `CODE_${error.code.replace("cancelled", "canceled").toUpperCase()}`,
    message: error.message,
    details: connectDetails(error).map(({ type, value }): JsonObject => {
      const found = registry.getMessage(type);
      if (found === undefined) throw new TypeError(`there is no message ${type}`);
      const json = toJson(found, fromBinary(found, value), { registry }) as JsonObject;
      return { "@type": `type.googleapis.com/${type}`, ...json };
    }),
  };
}

/** One call of the suite's. */
class Case {
  readonly result: Result = { responseHeaders: [], responseTrailers: [], payloads: [], numUnsentRequests: 0 };
  private readonly request: CompatRequest;
  private readonly method: AnyMethod;
  private readonly inputs: readonly unknown[];
  private readonly controller: AbortController = new AbortController();
  private readonly options: CallOptions;

  constructor(request: CompatRequest) {
    const { result } = this;
    this.request = request;
    const methods: Readonly<Record<string, AnyMethod>> = conformanceMethods;
    this.method = methods[request.method] as AnyMethod;
    const codec = jsonCodecOf(this.method.input as never);
    this.inputs = request.requestMessages.map(({ typeUrl, value }) => {
      const type = described(typeUrl.replace(/^.*\./, ""));
      return codec.read(JSON.stringify(toJson(type, fromBinary(type, value), { registry })));
    });
    this.options = {
      signal: this.controller.signal,
      timeoutMs: request.timeoutMs,
      metadata: metadataOf(request.requestHeaders),
      onResponseMetadata: (metadata) => void (result.responseHeaders = headersOf(metadata)),
      onTrailers: (trailers) => void (result.responseTrailers = headersOf(trailers)),
    };
  }

  async run(): Promise<Result> {
    const { caller, close } = callerFor(this.request);
    try {
      await this.call(caller);
    } catch (error) {
      this.result.error = errorOf(error);
    }
    close();
    return this.result;
  }

  private async call(caller: TypedCaller): Promise<void> {
    const { method, inputs, options } = this;
    if (method.kind === "client_stream") {
      this.take(await caller.clientStream(method, this.source(), options));
    } else if (method.kind === "duplex") {
      await this.chat(caller);
    } else {
      await sleep(this.request.requestDelayMs);
      if (method.kind === "unary") {
        const answer = caller.unary(method, inputs[0], options);
        this.sent();
        this.take(await answer);
      } else {
        const items = caller.serverStream(method as AnyMethod<"server_stream">, inputs[0], options);
        this.sent();
        for await (const each of items) this.take(each);
      }
    }
  }

  private async chat(caller: TypedCaller): Promise<void> {
    const { readable, writable } = caller.duplex(this.method as AnyMethod<"duplex">, this.options);
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const items = readable[Symbol.asyncIterator]();
    // An error of the writer also fails the reader, which reports the reason.
    const ignore = (): void => {};
    for await (const each of this.source()) {
      await writer.write(each).catch(ignore);
      if (this.request.streamType !== FULL_DUPLEX) continue;
      const next = await items.next();
      if (next.done === true) break;
      this.take(next.value);
    }
    if (this.request.cancel?.beforeCloseSend === undefined) await writer.close().catch(ignore);
    for (let next = await items.next(); next.done !== true; next = await items.next()) this.take(next.value);
  }

  private async *source(): AsyncGenerator<never> {
    let sent = 0;
    try {
      for (; sent < this.inputs.length; sent++) {
        await sleep(this.request.requestDelayMs);
        yield this.inputs[sent] as never;
      }
      this.sent();
    } finally {
      this.result.numUnsentRequests = this.inputs.length - sent;
    }
  }

  /** All requests have been sent: some calls are cancelled now. */
  private sent(): void {
    const { cancel } = this.request;
    if (cancel?.beforeCloseSend !== undefined) this.controller.abort();
    else if (cancel !== undefined && cancel.afterNumResponses === undefined) {
      setTimeout(() => this.controller.abort(), cancel.afterCloseSendMs ?? 0);
    }
  }

  private take(answer: unknown): void {
    const codec = jsonCodecOf(this.method.output as never);
    const { payload = {} } = JSON.parse(codec.write(answer)) as { readonly payload?: JsonValue };
    this.result.payloads.push(payload);
    if (this.result.payloads.length === this.request.cancel?.afterNumResponses) this.controller.abort();
  }
}

async function respond(request: CompatRequest): Promise<void> {
  const { testName } = request;
  const type = described("ClientCompatResponse");
  const call = async (): Promise<Result> => new Case(request).run();
  const answer = await call().then(
    (response) => ({ testName, response }),
    (error: unknown) => ({ testName, error: { message: String(error) } }),
  );
  const message = fromJson(type, answer as unknown as JsonValue, { registry });
  writeMessage(process.stdout, toBinary(type, message));
}

// The platform's agents are there after the first request.
await fetch("data:,");
const requestType = described("ClientCompatRequest");
const running = new Set<Promise<void>>();
for (let bytes = await readMessage(process.stdin); bytes !== undefined; bytes = await readMessage(process.stdin)) {
  const one: Promise<void> = respond(fromBinary(requestType, bytes) as CompatRequest).finally(() =>
    running.delete(one),
  );
  running.add(one);
  if (running.size >= MOST) await Promise.race(running);
}
await Promise.all(running);
process.exit(0);
