import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

/** Durations in milliseconds, as `timedRouter` tells them. */
const ServedCall = z.object({
  /** Decoding and validating the request. */
  decodeMs: z.number().optional(),
  /** The wait for its turn. */
  queueMs: z.number().optional(),
  handlerMs: z.number(),
});

/** Says where the time of calls went at the server. */
export const Timings = service("quicrpc.v1.Timings", {
  /** The durations of a call that its caller has named by the metadata `call-name`. Fails with `not_found` where it is not known, or not any more. */
  of: rpc({ input: z.object({ name: z.string() }), output: ServedCall, idempotent: true }),
});
