// Metadata and options of calls: see docs/calls.md.
import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const Ratio = z.object({ a: z.int(), b: z.int() });

export const Arith = service("guides.v1.Arith", {
  multiply: rpc({ input: z.object({ a: z.number(), b: z.number() }), output: z.object({ pro: z.number() }) }),
  // #region errors
  divide: rpc({
    input: Ratio,
    output: z.object({ quo: z.int() }),
    errors: {
      DIVIDE_BY_ZERO: z.object({ a: z.int() }), // failed_precondition, unless a code is given
      TOO_LARGE: { code: "out_of_range", details: z.object({ max: z.int() }) },
      CLOSED: { code: "unavailable" },
    },
  }),
  // #endregion errors
});
