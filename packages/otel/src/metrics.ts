import { checkOptions, withoutPermissionCheck } from "@quicrpc/core/internal";
import { type Histogram, type MeterProvider, metrics as api } from "@opentelemetry/api";
import { type Interceptor, observeResponse } from "@quicrpc/core";
import { callAttributes, outcomeAttributes } from "./attributes.js";

/** Options of `metrics`. */
export interface MetricsOptions {
  /** Meter provider that creates the histograms. Default: the global provider. */
  readonly meterProvider?: MeterProvider;
}

/** Bounds of the histogram buckets in seconds, as OpenTelemetry's conventions recommend. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Returns an interceptor that records the duration of calls in seconds, in the histograms `rpc.client.call.duration`
 * and `rpc.server.call.duration` (OpenTelemetry's semantic conventions for RPC). A stream is measured until its end.
 */
export function metrics(options: MetricsOptions = {}): Interceptor {
  checkOptions("metrics()", options, { meterProvider: true });
  const { meterProvider = api.getMeterProvider() } = options;
  const meter = meterProvider.getMeter("@quicrpc/otel");
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: BOUNDARIES } });
  const clientDuration = histogram("rpc.client.call.duration", "Duration of outgoing calls.");
  const serverDuration = histogram("rpc.server.call.duration", "Duration of incoming calls.");
  return withoutPermissionCheck(async (call, next) => {
    const start = performance.now();
    const record = (error: unknown): void => {
      const seconds = (performance.now() - start) / 1000;
      const attributes = { ...callAttributes(call), ...outcomeAttributes(call, error) };
      (call.side === "caller" ? clientDuration : serverDuration).record(seconds, attributes);
    };
    try {
      return observeResponse(await next(call), { onOver: record });
    } catch (error) {
      record(error);
      throw error;
    }
  });
}
