import { httpTransport } from "@quicrpc/http";
import { connect } from "@quicrpc/node";
import { expect, it } from "vitest";
import { createHttpClient } from "../packages/http/test/generated/http.js";
import { serveHttp } from "../packages/http/test/service.js";

it("`connect` takes it as a transport, and closes it", async () => {
  const server = await serveHttp();
  const url = `http://127.0.0.1:${server.port}`;
  const connection = await connect(url, { transports: [httpTransport()], headers: { "x-a": "1" } });
  const client = createHttpClient(connection);
  expect(await client.echo({ text: "a" })).toEqual({ text: "a" });
  expect(await client.metadata()).toMatchObject({ "x-a": "1" });
  await connection.close();
  await expect(client.echo({ text: "a" })).rejects.toMatchObject({ code: "unavailable" });
  await server.close();
});
