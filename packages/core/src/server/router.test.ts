import { expect, it } from "vitest";
import { defineMethod } from "../client/define-method.js";
import { createRouter } from "./router.js";

it("names the handler that a missing one may be", () => {
  const get = defineMethod({ name: "shop.v1.Orders", id: 1 }, "unary", "getOrder", { id: 1 });
  const make = (handlers: object) => () => createRouter({ getOrder: get }, handlers as never);
  expect(make({ getOrdr: () => {} })).toThrow(
    "shop.v1.Orders/getOrder has no handler: is it getOrdr, which is not a method?",
  );
  expect(make({ remove: () => {} })).toThrow(/getOrder has no handler$/);
});

it("refuses a function that is not the handler of a method, unless a class has it", () => {
  const get = defineMethod({ name: "shop.v1.Orders", id: 1 }, "unary", "getOrder", { id: 1 });
  const make = (handlers: object) => () => createRouter({ getOrder: get }, handlers as never);
  const getOrder = () => {};
  expect(make({ getOrder, getOrdr: getOrder })).toThrow(
    "there is a handler for getOrdr, which is not a method of shop.v1.Orders: did you mean getOrder?",
  );
  expect(make({ getOrder, remove: () => {} })).toThrow("is not a method of shop.v1.Orders: its methods are getOrder");
  expect(make({ getOrder, orders: [] })).not.toThrow();
  expect(
    make(
      new (class {
        readonly find = getOrder;
        getOrder(): void {}
        remove(): void {}
      })(),
    ),
  ).not.toThrow();
});
