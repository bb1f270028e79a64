import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

/** Durations in milliseconds, as measured by `timedRouter`. */
const ServedCall = z.object({
  /** Decoding and validating the request. */
  decodeMs: z.number().optional(),
  /** Waiting in the queue of the method. */
  queueMs: z.number().optional(),
  handlerMs: z.number(),
});

/** Reports how the server spent the time of calls. */
export const Timings = service("quicrpc.v1.Timings", {
  /**
   * Returns the durations of a call that its caller has named with the metadata `call-name`. Fails with `not_found` if
   * the name is unknown or was forgotten.
   */
  of: rpc({ input: z.object({ name: z.string() }), output: ServedCall, idempotent: true }),
});
