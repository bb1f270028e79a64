// `quicrpc studio <url>`: a process that serves a page and carries its calls, until it is told to end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { createSession } from "@quicrpc/core";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { serve } from "@quicrpc/node";
import { createHealth, createReflection, createReflectionClient } from "@quicrpc/services";
import { expect, test } from "vitest";
import { WebSocket } from "ws";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("it prints the page's address, carries calls for whoever has it, and ends well", { timeout: 60_000 }, async () => {
  const { router } = createHealth();
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router, createReflection([router])] });
  const command = spawn(process.execPath, [main, "studio", server.urls[0] ?? ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [printed] = (await once(command.stdout.setEncoding("utf8"), "data")) as [string];
  const { origin, host, hash } = new URL(printed.trim());
  expect(host).toMatch(/^127\.0\.0\.1:\d+$/);
  expect((await fetch(origin)).status).toBe(200);

  const socket = new WebSocket(`ws://${host}/session?${hash.slice(1)}`, WEBSOCKET_PROTOCOL, { origin });
  const session = createSession(webSocketTransport(socket as never, "client"));
  const { services } = await createReflectionClient(session).list();
  expect(services.map(({ name }) => name)).toEqual(["quicrpc.v1.Health", "quicrpc.v1.Reflection"]);
  await session.close();

  command.kill("SIGTERM");
  expect(await once(command, "exit")).toEqual([0, null]);
  await server.close();
});

/** Writes a request as it is given, and returns the first line of the answer. */
async function raw(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  socket.write([...lines, "", ""].join("\r\n"));
  let answer = "";
  for await (const text of socket) {
    answer += String(text);
    if (answer.includes("\r\n")) break;
  }
  socket.destroy();
  return answer.split("\r\n", 1)[0] ?? "";
}

test("it refuses pages of other origins, and whoever has no token, and outlives what they send", async () => {
  const { router } = createHealth();
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router] });
  const command = spawn(process.execPath, [main, "studio", server.urls[0] ?? ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [printed] = (await once(command.stdout.setEncoding("utf8"), "data")) as [string];
  const { port: text, hash } = new URL(printed.trim());
  const port = Number(text);
  const own = `Host: 127.0.0.1:${port}`;
  const upgrade = (target: string, host: string, origin: string): Promise<string> =>
    raw(port, [
      `GET ${target} HTTP/1.1`,
      host,
      `Origin: ${origin}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      `Sec-WebSocket-Protocol: ${WEBSOCKET_PROTOCOL}`,
    ]);
  const session = `/session?${hash.slice(1)}`;
  const origin = `http://127.0.0.1:${port}`;
  expect(await raw(port, ["GET / HTTP/1.1", `Host: rebound.example:${port}`])).toContain(" 421 ");
  expect(await raw(port, ["POST / HTTP/1.1", own, "Origin: http://evil.example", "Content-Length: 0"])).toContain(
    " 405 ",
  );
  for (const path of ["/../package.json", "/app.js/../../package.json", "/%2e%2e/package.json", "//[", "/app.js%00"]) {
    expect(await raw(port, [`GET ${path} HTTP/1.1`, own])).toContain(" 404 ");
  }
  expect(await upgrade(session, `Host: rebound.example:${port}`, `http://rebound.example:${port}`)).toContain(" 421 ");
  expect(await upgrade(session, own, "http://evil.example")).toContain(" 403 ");
  expect(await upgrade(session, own, "null")).toContain(" 403 ");
  expect(await upgrade("/session", own, origin)).toContain(" 403 ");
  expect(await upgrade("/session?token=%ff", own, origin)).toContain(" 403 ");
  for (const target of ["//[", "//", "http://[", "*", "/other"]) {
    expect(await upgrade(target, own, origin)).toContain(" 404 ");
  }
  expect(await upgrade(session, own, origin)).toContain(" 101 ");
  expect(command.exitCode).toBeNull();
  command.kill("SIGTERM");
  await once(command, "exit");
  await server.close();
}, 60_000);
