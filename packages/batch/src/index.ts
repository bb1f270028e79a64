export { type Batch, type BatchedService, createBatch } from "./create-batch.js";
export { createBatches } from "./create-batches.js";
export type { BatchLimits, BatchOptions } from "./limits.js";
export type { BatchInput, Pending, Reference } from "./reference.js";
