import { createLocalCaller, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { pack } from "@quicrpc/core/internal";
import { expect, it } from "vitest";
import { repeat, repeatRouter } from "./inner-calls.js";

it("makes calls of the same server within a call", async () => {
  const text = uncheckedCodec<string>();
  const upper = defineMethod({ name: "tools.v1.Text", id: 4803 }, "unary", "upper", {
    id: 1,
    input: text,
    output: text,
  });
  const router = createRouter({ upper }, { upper: (input) => input.toUpperCase() });
  const names: string[] = [];
  const caller = createLocalCaller([router, repeatRouter], {
    interceptors: [(call, next) => (names.push(call.method.name), next(call))],
  });
  const run = (method: string) => caller.unary(repeat, { method, messages: [pack("a"), pack("b")] });
  expect(await run("tools.v1.Text/upper")).toEqual([pack("A"), pack("B")]);
  expect(names).toEqual(["repeat", "upper", "upper"]);
  await expect(run("tools.v1.Text/lower")).rejects.toBeInstanceOf(RpcError);
});
