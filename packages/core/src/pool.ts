// The entry of clients with several servers, beyond what `connect` makes of a list of URLs.
export { hash } from "./balance/keyed.js";
export { createPool, type Pool, type PoolOptions } from "./balance/pool.js";
