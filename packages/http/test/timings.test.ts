import { interceptCaller, type Interceptor } from "@quicrpc/core";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { type HttpOptions, httpTransport, plainJson } from "@quicrpc/http";
import { expect, it, onTestFinished } from "vitest";
import { patterned, serveBlobs } from "./blob-service.js";
import { createBlobsClient } from "./generated/blobs.js";
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

it.each(forms)("the upload of blobs is a part of its call, and measured, in %s", async (_, options) => {
  const server = await serveBlobs("fetch", {
    put: async ({ file }) => `${(await file.bytes()).length}`,
  });
  onTestFinished(() => server.close());
  const told: CallTimings[] = [];
  const requests: string[] = [];
  const progress: number[] = [];
  const caller = httpTransport({
    ...options,
    fetch: (to, init) => {
      requests.push(`${init.method} ${new Headers(init.headers).get("x-tenant")}`);
      return server.fetch(to, init);
    },
  }).caller(new URL(server.url).origin);
  const tenant: Interceptor = (call, next) => {
    call.metadata.set("x-tenant", "north");
    return next(call);
  };
  const client = createBlobsClient(interceptCaller(caller, [tenant, callTimings((timings) => told.push(timings))]));
  const onProgress = (bytes: number): void => void progress.push(bytes);
  const file = { content: new Blob([patterned(200_000)]), onProgress };
  expect(await client.put({ note: "", file })).toBe("200000");
  expect(requests).toEqual(["POST north", "PATCH north", "POST north"]);
  expect(progress.at(-1)).toBe(200_000);
  const { waitMs, uploadMs, uploadBytes, encodeMs, answerMs, decodeMs, totalMs } = told[0] ?? expect.unreachable();
  expect(uploadBytes).toBe(200_000);
  expect(told[0]?.uploadedFirst).toBe(true);
  // When plain JSON is encoded and decoded is not known.
  const known = options.codec === undefined ? [encodeMs, answerMs, decodeMs] : [];
  const parts = [waitMs, uploadMs, ...known].map((ms) => ms as number);
  expect(parts.every((ms) => ms >= 0)).toBe(true);
  // The upload is before the answer, and in none of the other parts.
  expect(parts.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(totalMs);
  told.length = 0;
  await expect(client.put({ note: "", file: { content: "nothing" as never } })).rejects.toMatchObject({
    code: "invalid_argument",
  });
  expect(told).toEqual([expect.objectContaining({ uploadMs: undefined, uploadedFirst: undefined })]);
});
