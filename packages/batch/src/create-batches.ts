import type { Router } from "@quicrpc/core";
import { checkOptions } from "@quicrpc/core/transport";
import { createBatchRouter } from "./generated/batch.js";
import { type BatchOptions, completeLimits } from "./limits.js";
import { serveBatch } from "./serve-batch.js";

/**
 * Creates the service quicrpc.v1.Batch, which makes several calls of this server's unary methods in one round trip.
 * Each is a call like any other: its input is validated, and interceptors check its permission.
 *
 * @example
 * const server = await serve({ port: 4433, tls, routers: [usersRouter, postsRouter, createBatches()] });
 */
export function createBatches(options: BatchOptions = {}): Router {
  checkOptions("createBatches()", options, {
    maxSteps: true,
    maxDepth: true,
    maxElements: true,
    maxCalls: true,
    maxConcurrent: true,
    maxBytes: true,
    maxMs: true,
    timings: true,
  });
  const { timings = false, ...limits } = options;
  const complete = completeLimits(limits);
  const { methods } = createBatchRouter({ run: (plan, context) => serveBatch(plan, complete, context, timings) });
  return { methods: methods.map((bound) => ({ ...bound, carriesCalls: true })) };
}
