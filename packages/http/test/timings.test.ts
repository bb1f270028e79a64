import { interceptCaller } from "@quicrpc/core";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { type HttpOptions, httpTransport, plainJson } from "@quicrpc/http";
import { expect, it } from "vitest";
import { createHttpClient } from "./generated/http.js";
import { servingInTests } from "./service.js";

const serveHttp = servingInTests();
const forms: readonly (readonly [string, HttpOptions])[] = [
  ["MessagePack", {}],
  ["JSON", { codec: plainJson }],
];

it.each(forms)("calls over HTTP are measured, and messages stay as they are, in %s", async (_, options) => {
  const { port } = await serveHttp();
  const told: CallTimings[] = [];
  const caller = httpTransport(options).caller(`http://127.0.0.1:${port}`);
  const client = createHttpClient(interceptCaller(caller, [callTimings((timings) => told.push(timings))]));
  const value = { at: new Date(0), data: Uint8Array.of(1, 2), big: 2n ** 60n };
  expect(await client.kinds(value)).toEqual(value);
  const items: number[] = [];
  for await (const { i } of client.items({ n: 3 })) items.push(i);
  expect(items).toEqual([0, 1, 2]);
  expect(told).toHaveLength(2);
  expect(told[1]?.itemsMs).toBeGreaterThanOrEqual(0);
});
