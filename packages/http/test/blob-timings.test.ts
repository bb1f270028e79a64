// Calls with blobs that are measured on either side.
import { interceptCaller } from "@quicrpc/core";
import { callTimings, type CallTimings } from "@quicrpc/core/measure";
import { type ServedTimings, timedRouter } from "../../services/src/timed-router.js";
import { createCallerSession } from "@quicrpc/core/transport";
import { createFetchHandler, httpTransport, plainJson } from "@quicrpc/http";
import { expect, it } from "vitest";
import { createBlobsClient, createBlobsRouter } from "./generated/blobs.js";

it.each([
  ["MessagePack", {}],
  ["JSON", { codec: plainJson }],
])("blobs arrive both ways where calls are measured on both sides, in %s", async (_, codec) => {
  const served: ServedTimings[] = [];
  const told: CallTimings[] = [];
  const router = createBlobsRouter({
    put: async ({ file }) => String((await file.bytes()).length),
    get: () => ({}),
    check: async () => "",
    same: async ({ first }) => ({ first: new Blob([await (first as NonNullable<typeof first>).bytes()]) }),
  });
  const handler = createFetchHandler({ routers: [timedRouter(router, (timings) => served.push(timings))] });
  const transport = httpTransport({ ...codec, fetch: (url, init) => handler(new Request(url, init)) });
  const session = createCallerSession(transport.caller("http://localhost"));
  const caller = interceptCaller(session, [callTimings((timings) => told.push(timings))]);
  const { first } = await createBlobsClient(caller).same({ first: new Blob(["bytes"]) });
  expect(new TextDecoder().decode(await first?.bytes())).toBe("bytes");
  expect([told.length, served.length]).toEqual([1, 1]);
});
