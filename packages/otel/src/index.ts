export { metrics, type MetricsOptions } from "./metrics.js";
export { tracing, type TracingOptions } from "./tracing.js";
