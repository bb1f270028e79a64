import { notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** One beat of a clock. */
export const Tick = z.object({
  i: z.int().describe("Counts from 0."),
  at: z.number().describe("Milliseconds since the epoch, by the server's clock."),
});

/** Integer arithmetic, and a clock. */
export const Arith = service("demo.v1.Arith", {
  /** Multiplies two integers. */
  multiply: rpc({
    input: z.object({ a: z.int(), b: z.int() }),
    output: z.object({ pro: z.int() }),
  }),

  /** Divides a by b, without a fraction. */
  divide: rpc({
    input: z.object({ a: z.int(), b: z.int() }),
    output: z.object({ quo: z.int(), rem: z.int() }),
    readOnly: true,
  }),

  /** Leaves a line in the server's log; nothing comes back. */
  log: notify({ input: z.object({ line: z.string() }) }),

  /** Sends n ticks. */
  ticks: rpc({
    input: z.object({ n: z.int().min(0), everyMs: z.int().min(0).default(0) }),
    output: stream(Tick),
  }),
});
