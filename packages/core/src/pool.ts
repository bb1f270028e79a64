// The entry for clients of several servers, for cases in which `connect` with a list of URLs is not enough.
export { hash } from "./balance/keyed.js";
export { createPool, type Pool, type PoolOptions } from "./balance/pool.js";
export type { ResolveTargets, TargetSpec } from "./balance/discovery.js";
