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
export { createReflection, describeServices } from "./reflection.js";
export { describedMethod } from "./described-method.js";
export { type JsonSchema, jsonOf, valueOf } from "./json-values.js";
