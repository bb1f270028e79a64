import { checkOptions, withoutPermissionCheck } from "@quicrpc/core/internal";
import {
  context,
  type Context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
  type TracerProvider,
} from "@opentelemetry/api";
import { type InterceptedCall, type Interceptor, type Metadata, observeResponse } from "@quicrpc/core";
import { callTimings } from "@quicrpc/core/measure";
import { callAttributes, failureAttributes, isFailure, outcomeAttributes, timingAttributes } from "./attributes.js";

type Propagator = Pick<TextMapPropagator, "inject" | "extract">;

/** Options of `tracing`. */
export interface TracingOptions {
  /** Tracer provider that creates the spans. Default: the global provider. */
  readonly tracerProvider?: TracerProvider;
  /**
   * Propagator that writes the trace context to a call's metadata and reads it. Default: the global propagator, usually
   * W3C Trace Context.
   */
  readonly propagator?: Propagator;
  /**
   * Adds the durations of a call's phases to client spans (`callTimings` of `@quicrpc/core/measure`). `tracing` must
   * then be the last interceptor. Default: false.
   */
  readonly timings?: boolean;
}

/** Propagator that always calls the current global propagator, which may be set later. */
const globalPropagator: Propagator = {
  inject: (active, carrier, setter) => propagation.inject(active, carrier, setter),
  extract: (active, carrier, getter) => propagation.extract(active, carrier, getter),
};

const setter = {
  set: (metadata: Metadata, key: string, value: string): void => void metadata.set(key, value),
};
const getter = {
  keys: (metadata: Metadata): string[] => [...metadata].map(([key]) => key),
  get: (metadata: Metadata, key: string): string | undefined => {
    const value = metadata.get(key);
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * Returns an interceptor that creates a span for each call, on the client and on the server (OpenTelemetry's semantic
 * conventions for RPC). The span ends with the last message of the call. The client sends its span in the metadata, as
 * the parent of the server's span.
 */
export function tracing(options: TracingOptions = {}): Interceptor {
  checkOptions("tracing()", options, { tracerProvider: true, propagator: true, timings: true });
  const { tracerProvider, propagator = globalPropagator, timings = false } = options;
  const tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer("@quicrpc/otel");
  return withoutPermissionCheck(async (call, next) => {
    const parent = parentOf(call, propagator);
    const attributes = callAttributes(call);
    const kind = call.side === "caller" ? SpanKind.CLIENT : SpanKind.SERVER;
    const span = tracer.startSpan(String(attributes["rpc.method"]), { kind, attributes }, parent);
    const active = trace.setSpan(parent, span);
    if (call.side === "caller") propagator.inject(active, call.metadata, setter);
    try {
      const measured =
        timings && call.side === "caller"
          ? callTimings((measuredTimings) => span.setAttributes(timingAttributes(measuredTimings)))
          : undefined;
      const response = await context.with(active, () => (measured === undefined ? next(call) : measured(call, next)));
      return observeResponse(response, { onOver: (error) => end(span, call, error) });
    } catch (error) {
      end(span, call, error);
      throw error;
    }
  });
}

function parentOf({ side, metadata }: InterceptedCall, propagator: Propagator): Context {
  return side === "caller" ? context.active() : propagator.extract(context.active(), metadata, getter);
}

function end(span: Span, call: InterceptedCall, error: unknown): void {
  span.setAttributes(outcomeAttributes(call, error));
  if (error !== undefined) {
    const { code, message } = failureAttributes(call.side, error);
    if (isFailure(call.side, code)) span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}
