export {
  createHealthClient,
  createHealthRouter,
  type HealthClient,
  type HealthStatus,
  healthMethods,
} from "./generated/health.js";
export {
  createReflectionClient,
  type MessageForm,
  type MethodDescription,
  type MethodDetails,
  type ReflectionClient,
  reflectionMethods,
  type ServiceDescription,
  type ServiceDetails,
} from "./generated/reflection.js";
export { createHealth, type Health, type HealthStatuses, watchHealth } from "./health.js";
export { createReflection, describeServices, type ReflectionOptions } from "./reflection.js";
export { describedMethod } from "./described-method.js";
export type { JsonSchema } from "./json-schema.js";
export { jsonOf } from "@quicrpc/core/internal";
export { valueOf } from "./json-values.js";
export { schemaText } from "./schema-text.js";
export { createTimingsClient, type TimingsClient, timingsMethods } from "./generated/timings.js";
export { type BatchStep, batchTimings, isBatch } from "./batch-timings.js";
export { type CallPart, type CallPartName, callParts } from "./call-parts.js";
export { type ServedTimings, timedRouter } from "./timed-router.js";
export { createTimings, type Timings, type TimingsOptions } from "./timings.js";
