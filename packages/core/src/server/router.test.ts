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
