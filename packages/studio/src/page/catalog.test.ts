import { createLocalCaller } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createReflection } from "@quicrpc/services";
import { expect, it } from "vitest";
import { loadCatalog } from "./catalog.js";

const service = { name: "shop.v1.Orders", id: 77 };
const output = uncheckedCodec<string>();
const methods = {
  list: defineMethod(service, "unary", "list", { id: 1, output }),
  prices: defineMethod(service, "unary", "prices", { id: 2, output, meta: { auth: "public" } }),
  cancel: defineMethod(service, "unary", "cancel", { id: 3, output, meta: { scopes: ["orders:write", "staff"] } }),
  audit: defineMethod(service, "unary", "audit", { id: 4, output, meta: { auth: "admin" } }),
};

it("a method is shown with who may call it", async () => {
  const answer = (): string => "";
  const router = createRouter(methods, { list: answer, prices: answer, cancel: answer, audit: answer });
  const catalog = await loadCatalog(createLocalCaller([router, createReflection([router])]));
  const shown = catalog.find(({ name }) => name === service.name)?.methods ?? [];
  expect(Object.fromEntries(shown.map(({ name, permission }) => [name, permission]))).toEqual({
    list: undefined,
    prices: "for everybody",
    cancel: "needs orders:write and staff",
    audit: "auth: admin",
  });
});
