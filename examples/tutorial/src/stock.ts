import { rpcError } from "@quicrpc/core";
import { createStockRouter, stockMethods } from "./generated/stock.js";

/** Serves the items on the shelf. */
export function createStock(shelf: Record<string, number>) {
  return createStockRouter({
    take({ item, count }) {
      const left = shelf[item] ?? 0;
      if (left < count) throw rpcError(stockMethods.take, "SOLD_OUT", { left });
      shelf[item] = left - count;
      return { left: shelf[item] };
    },
  });
}
