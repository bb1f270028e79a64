import { createLocalCaller } from "@quicrpc/core";
import { expect, it } from "vitest";
import { createOrdersClient } from "./generated/orders.js";
import { createStockClient } from "./generated/stock.js";
import { createOrders } from "./orders.js";
import { createStock } from "./stock.js";

const stock = createStockClient(createLocalCaller([createStock({ apples: 10 })]));
const orders = createOrdersClient(createLocalCaller([createOrders(stock)]));

it("takes orders as long as the stock lasts", async () => {
  expect(await orders.place({ item: "apples", count: 8 })).toMatchObject({ id: 1, count: 8 });
  await expect(orders.place({ item: "apples", count: 3 })).rejects.toMatchObject({
    reason: "SOLD_OUT",
    details: { left: 2 },
  });
});
