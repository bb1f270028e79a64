import { createLocalCaller, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { metered, meteredRouter, search, spent } from "./cost-meter.js";

const router = createRouter(
  { search },
  {
    search: (text) => {
      if (text === "") throw new RpcError("invalid_argument", "a text is required");
      return text.length;
    },
  },
);

it("counts the cost of each call, whether it succeeds or not", async () => {
  const caller = createLocalCaller([meteredRouter(router)]);
  expect(await caller.unary(search, "tea")).toBe(3);
  await expect(caller.unary(search, "")).rejects.toMatchObject({ code: "invalid_argument" });
  let told: string | undefined;
  await caller.unary(search, "cup", { onTrailers: (trailers) => (told = trailers.get("cost")) });
  expect([spent.total, told]).toEqual([9, "3"]);
});

it("is refused without its serving side, and for other kinds of methods", () => {
  expect(() => createLocalCaller([router])).toThrow(
    "shop.v1.Catalog/search is metered: its router needs meteredRouter",
  );
  expect(() => defineMethod(search.service, "duplex", "talk", { id: 2, extension: metered })).toThrow(
    "shop.v1.Catalog/talk is duplex: metered is for unary, client_stream methods",
  );
});
