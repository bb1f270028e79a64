// Servers that drain and name another, over real transports.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, devCertificate, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../test/open.js";
import { trustOf } from "./trust.js";

const open = closedAfterEach();
const number = uncheckedCodec<number>();
const service = { name: "test.v1.Moved", id: 7090 };
const methods = {
  where: defineMethod(service, "unary", "where", { id: 1, output: uncheckedCodec<string>() }),
  count: defineMethod(service, "server_stream", "count", {
    id: 2,
    output: uncheckedCodec<{ id: number; where: string }>(),
    cursor: { field: "id" },
  }),
  slow: defineMethod(service, "unary", "slow", { id: 3, output: number }),
};

interface Running {
  readonly server: Server;
  readonly url: string;
  /** Lets the calls of `slow` go on. */
  readonly release: () => void;
}

async function start(scheme: string, where: string, options: Partial<ServeOptions> = {}): Promise<Running> {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const router = createRouter(methods, {
    where: () => where,
    slow: async () => {
      await released;
      return 7;
    },
    count: async function* (_, { resumeFrom, signal }) {
      for (let id = Number(resumeFrom ?? 0) + 1; !signal.aborted; id++) {
        yield { id, where };
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  });
  const server = await serve({
    ...options,
    listen: [`${scheme}://127.0.0.1:0`],
    ...(scheme !== "tcp" && { tls: await devCertificate() }),
    routers: [router],
  });
  open.push(server);
  return { server, url: server.urls[0] as string, release };
}

describe.each(process.env["QUICRPC_NO_ENGINE"] === undefined ? ["tcp", "quic"] : ["tcp"])("over %s", (scheme) => {
  it("a connection goes where the server that drains sends it, with its streams, and its calls finish", async () => {
    const [a, b] = await Promise.all([start(scheme, "a"), start(scheme, "b")]);
    const { hash } = await devCertificate();
    const connection = await connect(a.url, { ...trustOf(a.url, { hash }), advanced: { allowedRedirects: [b.url] } });
    open.push(connection);
    const call = connection.unary(methods.slow, undefined);
    const seen: string[] = [];
    let drained: Promise<unknown> | undefined;
    let last = 0;
    for await (const { id, where } of connection.serverStream(methods.count, undefined)) {
      expect(id).toBe(last + 1);
      last = id;
      if (seen.at(-1) !== where) seen.push(where);
      if (id === 20) drained = a.server.drain({ to: b.url });
      if (where === "b") break;
    }
    expect(seen).toEqual(["a", "b"]);
    expect(await connection.unary(methods.where, undefined)).toBe("b");
    a.release();
    expect(await call).toBe(7);
    await drained;
  });
});

it("an address that the client does not trust is reported, and not followed", async () => {
  const [a, b] = await Promise.all([start("tcp", "a"), start("tcp", "b")]);
  const errors: unknown[] = [];
  let told = (): void => {};
  const said = new Promise<void>((resolve) => (told = resolve));
  const onError = (error: unknown, { method }: { method: string }): void => {
    errors.push({ error, method });
    told();
  };
  const connection = await connect(a.url, { onError });
  open.push(connection);
  void a.server.drain({ to: b.url });
  await said;
  expect(errors).toEqual([
    {
      method: "connect",
      error: expect.objectContaining({
        code: "ERR_GOAWAY_UNTRUSTED",
        url: b.url,
        hint: expect.stringContaining("allowedRedirects") as string,
      }) as Error,
    },
  ]);
});

it("sessions are told over the time that is given, and a close ends that", async () => {
  const a = await start("tcp", "a");
  const connections = await Promise.all(Array.from({ length: 3 }, () => connect(a.url, { reconnect: false })));
  open.push(...connections);
  for (const connection of connections) await connection.unary(methods.where, undefined);
  const drained = a.server.drain({ spreadMs: 60_000, timeoutMs: 120_000 });
  await Promise.race(connections.map(async ({ session }) => session?.draining));
  expect(connections.filter(({ session }) => session?.takesCalls === true)).toHaveLength(2);
  const other = connections.find(({ session }) => session?.takesCalls === true);
  expect(await other?.unary(methods.where, undefined)).toBe("a");
  await a.server.close();
  await drained;
});

it("what cannot be an address is refused before anything begins", async () => {
  const a = await start("tcp", "a");
  await expect(a.server.drain({ to: "b" })).rejects.toThrow(TypeError);
  const connection = await connect(a.url);
  open.push(connection);
  expect(await connection.unary(methods.where, undefined)).toBe("a");
  await expect(connect(a.url, { advanced: { allowedRedirects: ["b"] } })).rejects.toThrow(
    "allowedRedirects takes URLs",
  );
});
