import { createLocalCaller } from "@quicrpc/core";
import { expect, test } from "vitest";
import { createGreeterClient } from "./generated/greeter.js";
import { greeter } from "./greeter.js";

// No network, nothing to close: messages are encoded and checked as over one.
const client = createGreeterClient(createLocalCaller([greeter]));

test("greets", async () => {
  expect(await client.greet({ name: "Ada" })).toEqual({ text: "Hello, Ada!" });
});

test("refuses a greeting of nobody", async () => {
  await expect(client.greet({ name: "" })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("counts down", async () => {
  const seen: number[] = [];
  for await (const { left } of client.countdown({ from: 2 })) seen.push(left);
  expect(seen).toEqual([2, 1, 0]);
});
