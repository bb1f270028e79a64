import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectTo } from "./client.js";
import { server } from "./trpc.js";

let origin: string;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

async function query(procedure: string): Promise<unknown> {
  const input = encodeURIComponent('{"name":"Ada"}');
  return (await fetch(`${origin}/trpc/${procedure}?input=${input}`)).json();
}

test("one server has a procedure of tRPC, one that has moved, and the service that it moved to", async () => {
  expect(await query("part")).toEqual({ result: { data: { text: "Bye, Ada!" } } });
  expect(await query("greet")).toEqual({ result: { data: { text: "Hello, Ada!" } } });
  expect(await connectTo(origin).greet({ name: "Ada" })).toEqual({ text: "Hello, Ada!" });
});
