// One client does not take the places of all others.
import { afterEach, describe, expect, it, vi } from "vitest";
import { createFetchHandler, type FetchHandler, type HttpServiceOptions } from "@quicrpc/http";
import { createBlobsRouter } from "./generated/blobs.js";
import { newRouter, type Seen } from "./service.js";

const LIMITS = { maxCalls: 16, maxPrincipalCalls: 8 };
const ends: AbortController[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.abort();
});

interface Served {
  readonly handler: FetchHandler;
  readonly seen: Seen;
}

function served(options: Partial<HttpServiceOptions> = {}): Served {
  const seen: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
  const blobs = createBlobsRouter({ put: () => "", get: () => ({}), check: () => "", same: () => ({}) });
  return { handler: createFetchHandler({ routers: [newRouter(seen), blobs], limits: LIMITS, ...options }), seen };
}

type Client = string | undefined;

function request(path: string, name: string | undefined, body: BodyInit, type: string): Request {
  const end = new AbortController();
  ends.push(end);
  const headers = { "content-type": type, ...(name !== undefined && { authorization: name }) };
  return new Request(`http://localhost${path}`, {
    method: "POST",
    headers,
    body,
    signal: end.signal,
    ...(typeof body !== "string" && ({ duplex: "half" } as object)),
  });
}

/** Makes calls that do not end, until one is refused. Returns how many were taken. */
async function taken({ handler, seen }: Served, address: Client, name?: string): Promise<number> {
  const before = seen.waiting;
  for (;;) {
    const waiting = seen.waiting;
    const answer = handler(request("/test.v1.Http/wait", name, "{}", "application/json"), info(address));
    const refused = await Promise.race([answer, vi.waitUntil(() => seen.waiting > waiting, { interval: 1 })]);
    if (!(refused instanceof Response)) continue;
    expect(refused.status).toBe(429);
    expect(refused.headers.get("quicrpc-refused")).toBe("1");
    return waiting - before;
  }
}

const info = (address: Client): { address?: string } => (address === undefined ? {} : { address });

it("each address has a share, which is smaller the more places others have taken", async () => {
  const server = served();
  expect(await taken(server, "192.0.2.1")).toBe(8);
  expect(await taken(server, "192.0.2.2")).toBe(4);
  expect(await taken(server, "192.0.2.3")).toBe(2);
  expect(await taken(server, "192.0.2.4")).toBe(1);
});

it("of places without end each client has all that one may have", async () => {
  const server = served({ limits: { maxCalls: Infinity, maxPrincipalCalls: 3 } });
  expect(await taken(server, "192.0.2.1")).toBe(3);
  expect(await taken(server, "192.0.2.2")).toBe(3);
});

it("what a client has taken is free again once its calls are over", async () => {
  const server = served();
  expect(await taken(server, "192.0.2.1")).toBe(8);
  for (const end of ends.splice(0)) end.abort();
  await vi.waitUntil(() => server.seen.aborted.length === 8);
  expect(await taken(server, "192.0.2.1")).toBe(8);
});

it("a network of IPv6 has one share", async () => {
  const server = served();
  expect(await taken(server, "2001:db8::1")).toBe(8);
  expect(await taken(server, "2001:db8::2:1")).toBe(0);
  expect(await taken(server, "2001:db8:0:1::1")).toBe(4);
});

describe("where principals are told apart each has a share, from whatever address", () => {
  it.each<[string, Partial<HttpServiceOptions>]>([
    ["by the connection", { authenticate: ({ headers }) => headers.get("authorization") ?? "" }],
    [
      "by `principal`",
      {
        authenticate: ({ headers }) => ({ name: headers.get("authorization") }),
        principal: ({ connection }) => (connection as { name: string }).name,
      },
    ],
  ])("%s", async (_, options) => {
    const server = served(options);
    expect(await taken(server, "192.0.2.1", "ann")).toBe(8);
    expect(await taken(server, "192.0.2.2", "ann")).toBe(0);
    expect(await taken(server, "192.0.2.1", "bob")).toBe(4);
  });
});

it("a principal that is not known has the share of its address, and its call is served", async () => {
  const server = served({
    principal: () => {
      throw new Error("nobody");
    },
  });
  expect(await taken(server, "192.0.2.1")).toBe(8);
});

it("a principal is asked for once for each request", async () => {
  const principal = vi.fn<() => string>(() => "ann");
  const { handler } = served({ principal });
  const answer = await handler(request("/test.v1.HttpBlobs/put/file", undefined, "a", "text/plain"), info("192.0.2.1"));
  expect(answer.status).toBe(201);
  expect(principal).toHaveBeenCalledTimes(1);
});

it("uploads and calls that stream count alike, though nothing comes of them", async () => {
  const server = served();
  const silent = (path: string, type: string): Promise<Response> =>
    server.handler(request(path, undefined, new ReadableStream(), type), info("192.0.2.1"));
  for (let i = 0; i < 4; i++) {
    void silent("/test.v1.HttpBlobs/put/file", "text/plain");
    void silent("/test.v1.Http/sum", "application/connect+json");
  }
  const ninth = await silent("/test.v1.HttpBlobs/put/file", "text/plain");
  expect(ninth.status).toBe(429);
  expect(await ninth.text()).toContain("limits.maxPrincipalCalls");
  expect(await taken(server, "192.0.2.2")).toBe(4);
});

it("a call may wait for its turn where others have all places", async () => {
  const server = served({ limits: { maxCalls: 8, maxWaitingCalls: 8, maxPrincipalCalls: 8 } });
  expect(await taken(server, "192.0.2.1")).toBe(8);
  void server.handler(request("/test.v1.Http/wait", undefined, "{}", "application/json"), info("192.0.2.2"));
  ends[0]?.abort();
  await vi.waitUntil(() => server.seen.waiting === 9, { timeout: 15_000 });
});

it("clients that nobody can tell apart share all places", async () => {
  expect(await taken(served(), undefined)).toBe(16);
});
