import assert from "node:assert/strict";
import { test } from "node:test";
import { createLocalCaller } from "@quicrpc/core";
import { createGreeterClient } from "./generated/greeter.js";
import { greeter } from "./greeter.js";

// No network, nothing to close: messages are encoded and checked as over one.
const client = createGreeterClient(createLocalCaller([greeter]));

test("greets", async () => {
  assert.deepEqual(await client.greet({ name: "Ada" }), { text: "Hello, Ada!" });
});

test("refuses a greeting of nobody", async () => {
  await assert.rejects(client.greet({ name: "" }), { code: "invalid_argument" });
});

test("counts down", async () => {
  const seen: number[] = [];
  for await (const { left } of client.countdown({ from: 2 })) seen.push(left);
  assert.deepEqual(seen, [2, 1, 0]);
});
