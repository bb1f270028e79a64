import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  type TypedCaller,
  createSession,
  type Interceptor,
  interceptCaller,
  interceptRouter,
  RpcError,
} from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { metrics, tracing } from "@quicrpc/otel";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const service = { name: "test.v1.Traced", id: 77 };
const text = uncheckedCodec<string>();
const m = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  same: defineMethod(service, "unary", "same", {
    id: 3,
    input: uncheckedCodec<object>(),
    output: uncheckedCodec<object>(),
  }),
  items: defineMethod(service, "server_stream", "items", { id: 2, input: text, output: text }),
};

/** A caller and handlers on one session, both behind `interceptor`. */
function connect(interceptor: Interceptor, inHandler: () => void = () => {}): TypedCaller {
  const [here, there] = createMemoryPair();
  const router = createRouter(m, {
    echo: (input) => {
      inHandler();
      if (input === "missing") throw new RpcError("not_found", "no such text");
      if (input === "crash") throw new Error("the secret");
      return input;
    },
    same: (input) => input,
    async *items(input) {
      yield input;
      if (input === "fail") throw new RpcError("internal", "after an item");
    },
  });
  createSession(there, { routers: [interceptRouter(router, [interceptor])], onError: () => {} });
  return interceptCaller(createSession(here), [interceptor]);
}

describe("tracing", () => {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const options = { tracerProvider, propagator: new W3CTraceContextPropagator() };
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());
  beforeEach(() => exporter.reset());

  const spans = (): { client: ReadableSpan; server: ReadableSpan } => {
    const finished = exporter.getFinishedSpans();
    const of = (kind: SpanKind): ReadableSpan => finished.find((span) => span.kind === kind) as ReadableSpan;
    return { client: of(SpanKind.CLIENT), server: of(SpanKind.SERVER) };
  };

  it("tells where the time went, if it is asked to", async () => {
    await connect(tracing({ ...options, timings: true })).unary(m.same, { text: "hi" });
    const caller = exporter.getFinishedSpans().find(({ kind }) => kind === SpanKind.CLIENT);
    for (const part of ["wait", "encode", "answer", "decode"]) {
      expect(caller?.attributes[`quicrpc.call.${part}_ms`]).toBeGreaterThanOrEqual(0);
    }
    const callee = exporter.getFinishedSpans().find(({ kind }) => kind === SpanKind.SERVER);
    expect(Object.keys(callee?.attributes ?? {}).filter((name) => name.endsWith("_ms"))).toEqual([]);
  });

  it("makes a span on each side, the callee's a child of the caller's", async () => {
    let seen: string | undefined;
    const client = connect(tracing(options), () => {
      seen = trace.getActiveSpan()?.spanContext().spanId;
    });
    await client.unary(m.echo, "x");
    const { client: made, server } = spans();
    expect(made.name).toBe("test.v1.Traced/echo");
    expect(made.attributes).toEqual({
      "rpc.system.name": "quicrpc",
      "rpc.method": "test.v1.Traced/echo",
      "rpc.response.status_code": "ok",
    });
    expect(server.name).toBe("test.v1.Traced/echo");
    expect(server.spanContext().traceId).toBe(made.spanContext().traceId);
    expect(server.parentSpanContext?.spanId).toBe(made.spanContext().spanId);
    // The handler runs within its span.
    expect(seen).toBe(server.spanContext().spanId);
  });

  it("tells a callee's fault from a caller's mistake", async () => {
    const client = connect(tracing(options));
    await client.unary(m.echo, "missing").catch(() => {});
    expect(spans().client).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: "no such text" },
      attributes: { "rpc.response.status_code": "not_found", "error.type": "not_found" },
    });
    expect(spans().server.status.code).toBe(SpanStatusCode.UNSET);
    expect(spans().server.attributes["rpc.response.status_code"]).toBe("not_found");
    exporter.reset();
    await client.unary(m.echo, "crash").catch(() => {});
    expect(spans().server).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: "the secret" } });
    expect(spans().client).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: "the handler failed" } });
  });

  it("ends a stream's spans with the stream", async () => {
    const client = connect(tracing(options));
    const iterator = client.serverStream(m.items, "fail")[Symbol.asyncIterator]();
    expect(await iterator.next()).toMatchObject({ value: "fail" });
    expect(spans().client).toBeUndefined();
    await iterator.next().catch(() => {});
    expect(spans().client.attributes).toMatchObject({ "error.type": "internal" });
    expect(spans().server.parentSpanContext?.spanId).toBe(spans().client.spanContext().spanId);
  });
});

describe("metrics", () => {
  it("records how long calls take, by method and status, on both sides", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const client = connect(metrics({ meterProvider }));
    await client.unary(m.echo, "x");
    await client.unary(m.echo, "x");
    await client.unary(m.echo, "missing").catch(() => {});
    for await (const _ of client.serverStream(m.items, "x"));
    await meterProvider.forceFlush();
    const found = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => [
          `${descriptor.name} ${descriptor.unit}`,
          attributes["rpc.method"],
          attributes["rpc.response.status_code"],
          attributes["error.type"],
          (value as Histogram).count,
        ]),
      );
    const echo = "test.v1.Traced/echo";
    expect(found).toEqual([
      ["rpc.client.call.duration s", echo, "ok", undefined, 2],
      ["rpc.client.call.duration s", echo, "not_found", "not_found", 1],
      ["rpc.client.call.duration s", "test.v1.Traced/items", "ok", undefined, 1],
      ["rpc.server.call.duration s", echo, "ok", undefined, 2],
      ["rpc.server.call.duration s", echo, "not_found", undefined, 1],
      ["rpc.server.call.duration s", "test.v1.Traced/items", "ok", undefined, 1],
    ]);
    await meterProvider.shutdown();
  });
});
