// `quicrpc studio <url>`: a process that serves a page and carries its calls, until it is told to end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSession, type Session } from "@quicrpc/core";
import { createRouter, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { devCertificate, serve } from "@quicrpc/node";
import { createHealth, createReflection, createReflectionClient, describedMethod } from "@quicrpc/services";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { useProject } from "./project.js";

const { cwd, quicrpc, start, write } = useProject();

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("it prints the page's address, carries calls for whoever has it, and ends well", { timeout: 60_000 }, async () => {
  const { router } = createHealth();
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router, createReflection([router])] });
  const command = spawn(process.execPath, [main, "studio", server.urls[0] ?? ""], {
    cwd,
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

const SCHEMA = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Shop = service("shop.v1.Shop", {
  /** An order. */
  get: rpc({ input: z.object({ id: z.int() }), output: z.object({ id: z.int(), at: z.date() }) }),
});
`;
const name = "shop.v1.Shop";
const value = uncheckedCodec<{ readonly id: number }>();
const get = defineMethod({ name, id: defaultServiceId(name) }, "unary", "get", { id: 1, input: value, output: value });
const shop = createRouter({ get }, { get: ({ id }) => ({ id, at: new Date(0) }) });

/** A session with the process that a studio prints the address of, as its page has one. */
function pageOf(printed: string): Session {
  const { origin, host, hash } = new URL(/http:\S+/.exec(printed)?.[0] ?? "");
  const socket = new WebSocket(`ws://${host}/session?${hash.slice(1)}`, WEBSOCKET_PROTOCOL, { origin });
  return createSession(webSocketTransport(socket as never, "client"));
}

/** Reads a service as a page does, and calls its method. */
async function called(session: Session): Promise<unknown> {
  const reflection = createReflectionClient(session);
  const described = (await reflection.list()).services.find((service) => service.name === name);
  if (described === undefined) return expect.unreachable("the service is not described");
  const { methods } = await reflection.describe({ service: name });
  expect(methods).toMatchObject([{ name: "get", docs: "An order.", input: { properties: { id: {} } } }]);
  const [method] = described.methods.map((each) => describedMethod(described, each));
  return session.start(method as typeof get, { id: 4 });
}

test.each(["quic://127.0.0.1:0", "tls://127.0.0.1:0", "unix:", "wss://127.0.0.1:0"])(
  "of a server at %s without reflection it shows the project's schemas, and calls it",
  async (listen) => {
    write("src/shop.service.ts", SCHEMA);
    const isUnix = listen === "unix:";
    await using server = await serve({
      listen: isUnix ? `unix:${join(cwd, "s")}` : listen,
      ...(!isUnix && { tls: await devCertificate() }),
      routers: [shop],
    });
    const command = start(["studio", server.urls[0] ?? "", ...(isUnix ? [] : ["--dev"])]);
    await command.says("The server has no reflection: using the schemas of this project, src/shop.service.ts.\n");
    const session = pageOf(await command.says("\n"));
    expect(await called(session)).toEqual({ id: 4, at: new Date(0) });
    await session.close();
    expect(await command.stop()).toBe(0);
  },
);

test("shows the schemas that are named, whatever the server says, or says why it cannot", async () => {
  write("src/shop.service.ts", SCHEMA);
  write("other/wrong.service.ts", SCHEMA.replace("z.date()", "z.symbol()"));
  // What it says of itself is nothing that a page could show.
  const bare = createRouter({ get }, { get: ({ id }) => ({ id, at: new Date(0) }) });
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [bare, createReflection([])] });
  const [url = ""] = server.urls;
  const command = start(["studio", url, "--schema", "src/*.service.ts"]);
  const session = pageOf(await command.says("\n"));
  expect(await called(session)).toEqual({ id: 4, at: new Date(0) });
  await session.close();
  expect(await command.stop()).toBe(0);
  expect(quicrpc(["studio", url, "--schema", "other/wrong.service.ts"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing is shown"),
  });
});

test.each([
  ["those that are named", ["--schema", "src/*.service.ts"]],
  ["the project's", []],
])("schemas that change are shown to pages that are open: %s", async (_, args) => {
  write("src/shop.service.ts", SCHEMA);
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [shop] });
  const command = start(["studio", server.urls[0] ?? "", ...args]);
  const printed = await command.says("\n").then((said) => (said.includes("http:") ? said : command.says("\n")));
  const page = pageOf(printed);
  expect(await called(page)).toEqual({ id: 4, at: new Date(0) });

  write("src/shop.service.ts", SCHEMA.replace("z.date()", "z.symbol()"));
  await command.says("the page keeps its previous content");
  write("src/shop.service.ts", SCHEMA.replace("An order.", "One order.").replace("get: rpc", "fetch: rpc"));
  await command.says("The schemas have changed: pages were updated.\n");
  await page.draining;
  const next = pageOf(printed);
  const { methods } = await createReflectionClient(next).describe({ service: name });
  expect(methods).toMatchObject([{ name: "fetch", docs: "One order." }]);
  await next.close();
  await page.close();
  expect(await command.stop()).toBe(0);
});

test("of a server without reflection, in no project, it says what to do, and goes on", async () => {
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [shop] });
  const command = start(["studio", server.urls[0] ?? ""]);
  await command.says("createReflection(routers)");
  await command.says(
    `or run this command in the project with the server's schemas (No file matches **/*.service.ts in ${cwd}.), or pass them with --schema <file>\n`,
  );
  const session = pageOf(await command.says("\n"));
  await expect(createReflectionClient(session).list()).rejects.toMatchObject({ code: "unimplemented" });
  await session.close();
  expect(await command.stop()).toBe(0);
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
    cwd,
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
