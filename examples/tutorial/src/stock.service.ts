import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

export const Stock = service("shop.v1.Stock", {
  /** Takes things from the shelf. */
  take: rpc({
    input: z.object({ item: z.string(), count: z.int().positive() }),
    output: z.object({ left: z.int() }),
    errors: { SOLD_OUT: { code: "failed_precondition", details: z.object({ left: z.int() }) } },
  }),
});
