// Which pages may call, by what their browsers say in Origin and Host.
import { connect } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createFetchHandler } from "@quicrpc/http";
import { type Running, serveHttp } from "./service.js";

let running: Running | undefined;
let warnings: string[] = [];
beforeEach(() => {
  warnings = [];
  vi.spyOn(process, "emitWarning").mockImplementation((text) => void warnings.push(String(text)));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await running?.close();
  running = undefined;
});

const call = (url: string, origin: string): Promise<Response> =>
  fetch(`${url}nothing`, { method: "POST", body: "{}", headers: { "content-type": "application/json", origin } });

it("lets pages of its own host call, and refuses those of others with a hint in the log", async () => {
  running = await serveHttp();
  expect((await call(running.url, "http://127.0.0.1:5173")).status).toBe(200);
  for (const origin of ["https://evil.example", "null"]) expect((await call(running.url, origin)).status).toBe(403);
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toContain('createFetchHandler({ allowedOrigins: ["https://evil.example"] })');
});

it("lets pages that are named call, and read all of the answer", async () => {
  running = await serveHttp({ allowedOrigins: ["https://app.example"] });
  const origin = "https://app.example";
  const answer = await call(running.url, origin);
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  expect(answer.headers.get("access-control-expose-headers")).toBe("*");
  // No cache keeps an answer to POST.
  expect(answer.headers.get("vary")).toBeNull();
  const failed = await fetch(`${running.url}crash`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json", origin },
  });
  expect([failed.status, failed.headers.get("access-control-allow-origin")]).toEqual([500, origin]);
});

it("answers preflights of who may call", async () => {
  const handler = createFetchHandler({ routers: [], allowedOrigins: (origin) => origin.endsWith(".example") });
  const ask = (origin: string): Promise<Response> =>
    handler(
      new Request("https://api.test/test.v1.Http/echo", {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,connect-timeout-ms",
        },
      }),
    );
  const allowed = await ask("https://a.example");
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get("access-control-allow-headers")).toBe("content-type,connect-timeout-ms");
  expect(allowed.headers.get("access-control-allow-methods")).toBe("GET, POST");
  expect((await ask("https://a.other")).status).toBe(403);
});

it("says to caches that answers to GET differ by origin, also where there was none", async () => {
  running = await serveHttp({ allowedOrigins: ["https://app.example"] });
  const url = `${running.url}echo?message=%7B%22text%22%3A%22a%22%7D`;
  for (const headers of [{}, { origin: "https://app.example" }]) {
    const answer = await fetch(url, { headers });
    expect([answer.status, answer.headers.get("vary")]).toEqual([200, "origin, accept-encoding"]);
  }
});

/** The status of a request by hand, which says whom it believes to reach. */
function statusOf(port: number, head: string, origin?: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const page = origin === undefined ? "" : `origin: ${origin}\r\n`;
  socket.end(`${head}\r\n${page}content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`);
  return new Promise((resolve, reject) => {
    socket.once("data", (bytes) => resolve(String(bytes).split(" ", 2)[1] ?? ""));
    socket.on("error", reject);
  });
}
const call1 = (target: string, host: string): string => `POST ${target} HTTP/1.1\r\nhost: ${host}`;
const PATH = "/test.v1.Http/nothing";

it.each([
  ["an address", "127.0.0.1:1", undefined, "200"],
  ["localhost", "localhost", undefined, "200"],
  ["a name of its own", "orders.internal", undefined, "200"],
  ["another name", "evil.example", undefined, "421"],
  ["another name, from its page", "evil.example", "http://evil.example", "421"],
  ["a name of a page that may call", "app.example", "https://app.example", "200"],
  ["another name, by a page that may call", "evil.example", "https://app.example", "421"],
  ["a name for which something before it ended TLS", "front.example", "https://front.example", "200"],
])("at a loopback address, a request for %s", async (_, host, origin, status) => {
  running = await serveHttp({ allowedHosts: ["orders.internal"], allowedOrigins: ["https://app.example"] });
  expect(await statusOf(running.port, call1(PATH, host), origin)).toBe(status);
});

it("a server in development takes no other names, and says how it would", async () => {
  running = await serveHttp();
  expect(await statusOf(running.port, call1(PATH, "evil.example:80"))).toBe("421");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('add "evil.example" to allowedHosts of createFetchHandler()');
});

it("a target in absolute form names the server", async () => {
  running = await serveHttp();
  expect(await statusOf(running.port, call1(`http://localhost${PATH}`, "localhost"))).toBe("200");
  expect(await statusOf(running.port, call1(`http://evil.example${PATH}`, "localhost"))).toBe("421");
});
