// Whatever a client sends gets an answer of the protocol, and leaves nothing behind.
import { ServerLoad } from "@quicrpc/core";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createFetchHandler } from "@quicrpc/http";
import { newRouter, type Seen } from "./service.js";

const RUNS = 300;
const STATUSES = [200, 204, 400, 404, 405, 415, 429, 501];

const seen: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
const load = new ServerLoad();
const errors: unknown[] = [];
const handler = createFetchHandler({
  routers: [newRouter(seen)],
  load,
  onError: (error) => errors.push(error),
  limits: { maxFrameBytes: 10_000, maxDecompressedBytes: 10_000 },
});
const METHODS = ["echo", "kinds", "items", "sum", "chat", "note", "upload", "nothing", "missing"];

async function answered(request: Request): Promise<void> {
  const answer = await handler(request);
  await answer.arrayBuffer();
  expect(STATUSES).toContain(answer.status);
  expect([errors, load.held, load.handlers]).toEqual([[], 0, 0]);
}

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => new TextEncoder().encode(text)),
  // Envelopes, complete and not.
  fc
    .tuple(fc.nat(255), fc.nat(60), fc.uint8Array({ maxLength: 60 }))
    .map(([flags, length, bytes]) => Uint8Array.of(flags, 0, 0, 0, length, ...bytes)),
);
const types = fc
  .constantFrom("json", "msgpack", "connect+json", "connect+msgpack")
  .map((type) => `application/${type}`);
const codings = fc.constantFrom("gzip", "identity", "");

it("in the body of a POST", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), bodies, types, codings, async (method, body, type, coding) => {
      const headers = { "content-type": type, "content-encoding": coding, "connect-content-encoding": coding };
      const url = `http://localhost/test.v1.Http/${method}`;
      await answered(new Request(url, { method: "POST", body: body as BodyInit, headers }));
    }),
    { numRuns: RUNS },
  );
});

it("in the query of a GET", async () => {
  const parameter = fc.tuple(
    fc.constantFrom("message", "encoding", "base64", "compression", "connect", "__proto__"),
    fc.oneof(fc.constantFrom("json", "msgpack", "gzip", "1", "v1", "%", '{"text":"a"}', '{"n":1}'), fc.string()),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), fc.array(parameter), fc.boolean(), async (method, given, events) => {
      const query = new URLSearchParams(given);
      const headers = { accept: events ? "text/event-stream" : "*/*" };
      await answered(new Request(`http://localhost/test.v1.Http/${method}?${query.toString()}`, { headers }));
    }),
    { numRuns: RUNS },
  );
});
