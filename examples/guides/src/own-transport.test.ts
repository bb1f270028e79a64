import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, serve } from "@quicrpc/node";
import { expect, it } from "vitest";
import { inProcess } from "./own-transport.js";

const number = uncheckedCodec<number>();
const double = defineMethod({ name: "shop.v1.Numbers", id: 4802 }, "unary", "double", {
  id: 1,
  input: number,
  output: number,
});

it("carries calls of serve and connect", async () => {
  const transports = [inProcess()];
  const routers = [createRouter({ double }, { double: (n) => n * 2 })];
  const server = await serve({ listen: ["here://orders"], routers, advanced: { transports } });
  const connection = await connect("here://orders", { advanced: { transports } });
  expect(await connection.unary(double, 21)).toBe(42);
  await connection.close();
  await server.close();
  await expect(connect("here://orders", { advanced: { transports }, timeoutMs: 50 })).rejects.toThrow(
    "nobody listens on here://orders",
  );
});
