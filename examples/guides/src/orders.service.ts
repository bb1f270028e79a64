// Who may call what: see docs/authentication.md.
import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Order = z.object({ id: z.string(), item: z.string() });
const OrderId = Order.pick({ id: true });
const Prices = z.record(z.string(), z.number());

// #region schema
export const Orders = service("shop.v1.Orders", {
  list: rpc({ output: stream(Order) }), // any known caller
  prices: rpc({ output: Prices, meta: { auth: "public" } }), // everybody
  cancel: rpc({ input: OrderId, meta: { scopes: ["orders:write"] } }), // who has all of these
});
// #endregion schema
