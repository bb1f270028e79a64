export type { Balance, BalancedTarget, BalanceName } from "./balance.js";
export type { ResolveTargets, TargetSpec } from "./discovery.js";
export type { HealthCheck } from "./health-watch.js";
export { hash } from "./keyed.js";
export { POOL_OPTIONS } from "./option-names.js";
export type { OutlierOptions } from "./outliers.js";
export { createPool, type Pool, type PoolOptions } from "./pool.js";
export type { SubsetOptions } from "./subset.js";
export type { PoolTarget } from "./target.js";
