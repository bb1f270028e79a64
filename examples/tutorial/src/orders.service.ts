import { rpc, service } from "@quicrpc/core";
import { topic } from "@quicrpc/topics";
import { z } from "zod";

export const Order = z.object({ id: z.int(), item: z.string(), count: z.int(), at: z.date() });

export const Orders = service("shop.v1.Orders", {
  /** Orders things. */
  place: rpc({
    input: z.object({ item: z.string().min(1, "say what you want"), count: z.int().positive() }),
    output: Order,
    errors: { SOLD_OUT: { code: "failed_precondition", details: z.object({ left: z.int() }) } },
  }),
  /** Every order, as it is placed. */
  placed: topic("placed", Order, { history: true }),
});
