export type { Balance, BalancedTarget, BalanceName } from "./balance.js";
export type { ResolveTargets, TargetSpec } from "./discovery.js";
export type { HealthCheck } from "./health-watch.js";
export { hash } from "./rendezvous.js";
export { POOL_OPTIONS } from "./pool.js";
export type { OutlierOptions } from "./outliers.js";
export { createPool, type Pool, type PoolOptions } from "./pool.js";
export type { SubsetOptions } from "./rendezvous.js";
export type { PoolTarget } from "./target.js";
