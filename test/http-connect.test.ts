import { connect as connectHttp2 } from "node:http2";
import { createRouter } from "@quicrpc/core/generated";
import { http2Fetch, httpTransport } from "@quicrpc/http";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { expect, it } from "vitest";
import { createHttpClient } from "../packages/http/test/generated/http.js";
import { serveHttp } from "../packages/http/test/service.js";
import { methods } from "./behaviour/service.js";
import { closedAfterEach } from "./open.js";

const { echo } = methods;
const open = closedAfterEach();

it("`connect` takes it as a transport, and closes it", async () => {
  const server = await serveHttp();
  const url = `http://127.0.0.1:${server.port}`;
  const connection = await connect(url, { advanced: { transports: [httpTransport()], headers: { "x-a": "1" } } });
  const client = createHttpClient(connection);
  expect(await client.echo({ text: "a" })).toEqual({ text: "a" });
  expect(await client.metadata()).toMatchObject({ "x-a": "1" });
  await connection.close();
  await expect(client.echo({ text: "a" })).rejects.toMatchObject({ code: "unavailable" });
  await server.close();
});

/** Makes calls to a server at once over plain HTTP. Fails unless all are answered. */
async function callAtOnce(
  calls: number,
  listen: string,
  settings: Partial<Parameters<typeof serve>[0]> = {},
): Promise<void> {
  const { cert, key } = await devCertificate();
  const router = createRouter({ echo }, { echo: (input) => input });
  const server = await serve({ ...settings, routers: [router], listen: [listen], tls: { cert, key }, http: true });
  open.push(server);
  const { host, protocol } = new URL(server.urls[0] as string);
  const overTls = protocol === "wss:";
  const transports = [httpTransport(overTls ? { fetch: http2Fetch(connectHttp2, { ca: cert }) } : {})];
  const connection = await connect(`${overTls ? "https" : "http"}://${host}`, { advanced: { transports } });
  open.push(connection);
  const texts = Array.from({ length: calls }, (_, i) => String(i));
  const answers = await Promise.all(texts.map((text) => connection.unary(echo, { text })));
  expect(answers).toEqual(texts.map((text) => ({ text })));
}

it.each([
  [1200, "http://127.0.0.1:0"],
  [300, "wss://127.0.0.1:0"],
])("%i calls at once all succeed with default limits over %s", async (calls, listen) => {
  await callAtOnce(calls, listen);
});

it.each([
  ["connections", { advanced: { transport: { maxSessionsPerAddress: 5 } } }],
  ["connections that have sent no request", { advanced: { transport: { maxHandshakesPerAddress: 2 } } }],
  ["calls", { limits: { maxCalls: 5 } }],
])("calls wait if the server has room for few %s", async (_, settings) => {
  await callAtOnce(200, "http://127.0.0.1:0", settings);
});
