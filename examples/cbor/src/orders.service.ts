import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** An order of values that CBOR has tags for, and JSON has not. */
export const Order = z.object({
  id: z.string(),
  at: z.date(),
  cents: z.bigint(),
  tags: z.set(z.string()),
});

export const Orders = service("shop.v1.Orders", {
  /** Gives back the order as it was placed. */
  place: rpc({ input: Order, output: Order }),
  /** Every order placed so far. */
  all: rpc({ output: stream(Order) }),
});
