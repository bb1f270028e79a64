import { isRpcErrorOf, rpcError } from "@quicrpc/core";
import { createTopics } from "@quicrpc/topics";
import { createOrdersRouter, createOrdersTopics, ordersMethods } from "./generated/orders.js";
import { type StockClient, stockMethods } from "./generated/stock.js";

/** Accepts orders while there is stock. */
export function createOrders(stock: StockClient) {
  const topics = createOrdersTopics(createTopics(), {
    placed: { authorize: (access) => access === "subscribe" },
  });
  let id = 0;
  return createOrdersRouter(
    {
      async place({ item, count }) {
        try {
          await stock.take({ item, count }, { timeoutMs: 1000 });
        } catch (error) {
          if (isRpcErrorOf(stockMethods.take, error)) throw rpcError(ordersMethods.place, "SOLD_OUT", error.details);
          throw error;
        }
        const order = { id: ++id, item, count, at: new Date() };
        await topics.placed.publish({ message: order });
        return order;
      },
    },
    topics,
  );
}
