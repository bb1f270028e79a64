import { type Router, type RpcError, rpcError } from "@quicrpc/core";
import { createShopRouter, shopMethods } from "./generated/tools.js";

/** Observations of handlers. */
export interface Seen {
  readonly events: string[];
  /** Called when there is one more. */
  onEvent: () => void;
}

export function newSeen(): Seen {
  return { events: [], onEvent: () => {} };
}

/** Fulfils when an event was seen. */
export function until(seen: Seen, event: string): Promise<void> {
  return new Promise((resolve) => {
    seen.onEvent = () => {
      if (seen.events.includes(event)) resolve();
    };
    seen.onEvent();
  });
}

export function newShop(seen: Seen): Router<string> {
  const see = (event: string): void => {
    seen.events.push(event);
    seen.onEvent();
  };
  return createShopRouter<string>({
    find({ id }) {
      if (id === "gone") throw rpcError(shopMethods.find, "GONE", { since: new Date(0) }, { message: "sold out" });
      if (id === "crash") throw new Error("a secret");
      return { id, price: 9_007_199_254_740_993n, addedAt: new Date(0), stock: new Map([["berlin", 3]]) };
    },
    add: (article) => article,
    count: (text) => text.length,
    async *lines({ n }, { signal }) {
      signal.addEventListener("abort", () => see("lines aborted"));
      if (n < 0) {
        yield { line: 0 };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      for (let line = 0; line < n; line++) yield { line };
    },
    wait(_, { signal }) {
      see("waiting");
      return new Promise<void>((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          see(`aborted ${(signal.reason as RpcError).code}`);
          reject(signal.reason as RpcError);
        });
      });
    },
    whoAmI: (_, { connection }) => ({ user: connection }),
    note: ({ text }) => see(`note ${text}`),
    empty() {},
  });
}
