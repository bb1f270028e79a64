// Which pages may call, by what their browsers say in Origin and Host.
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
  expect(answer.headers.get("vary")).toBe("origin");
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
