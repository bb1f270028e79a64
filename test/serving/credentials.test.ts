// What a client proves itself with reaches `authenticate` in one field, over every transport of `serve`.
import { mkdtempSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallContext, type Limits, RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import {
  connect,
  devCertificate,
  dial,
  type DialOptions,
  type Peer,
  serve,
  type ServeOptions,
  type Server,
} from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { methods } from "../behaviour/service.js";
import { trustOf } from "../../packages/node/test/trust.js";
import { closedAfterEach } from "../open.js";
import { type Listener, LISTENERS } from "./listeners.js";

const open = closedAfterEach();

const { echo } = methods;
const router = createRouter({ echo }, { echo: (_, { connection }: CallContext) => ({ text: String(connection) }) });

const SOCKET: Listener = {
  name: "a Unix socket",
  get listen() {
    return `unix:${join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket")}`;
  },
  options: {},
};

/** Lets those in who have said so, and tells handlers what that was. */
const admit = async ({ credentials }: Peer): Promise<string> => {
  const token = await credentials;
  if (token === undefined) throw new RpcError("unauthenticated", "no credentials");
  if (token === "mallory") throw new RpcError("permission_denied", "not you");
  return token;
};

describe.each([...LISTENERS, SOCKET])("credentials over $name", (way) => {
  const { options: over } = way;

  async function served(
    options: Partial<ServeOptions> = {},
  ): Promise<{ server: Server; url: string; dialling: DialOptions }> {
    const tls = await devCertificate();
    const server = await serve({
      listen: [way.listen],
      tls: { cert: tls.cert, key: tls.key },
      routers: [router],
      authenticate: admit,
      ...over,
      ...options,
      advanced: { ...over.advanced, ...options.advanced },
    });
    open.push(server);
    const url = server.urls[0] as string;
    return { server, url, dialling: { ...trustOf(url, tls), ...over } };
  }

  it("reach authenticate, and through it the handlers", async () => {
    const { url, dialling } = await served();
    const session = await dial(url, { ...dialling, credentials: "alice" });
    open.push(session);
    expect(await session.unary(echo, { text: "x".repeat(500_000) })).toEqual({ text: "alice" });
    expect(await session.unary(echo, { text: "" }, { via: "stream" })).toEqual({ text: "alice" });
  });

  it("come with session metadata, which is read with them", async () => {
    const seen: unknown[] = [];
    const { url, dialling } = await served({
      authenticate: async ({ metadata, credentials }) =>
        void seen.push((await metadata).get("tenant"), await credentials),
    });
    for (const more of [{ advanced: { metadata: { tenant: "north" } }, credentials: "alice" }, {}]) {
      const session = await dial(url, { ...dialling, ...more, advanced: { ...dialling.advanced, ...more.advanced } });
      open.push(session);
      await session.unary(echo, { text: "" });
    }
    expect(seen).toEqual(["north", "alice", undefined, undefined]);
  });

  it("that are refused, and none, fail the calls of the session with the reason", async () => {
    const { url, dialling } = await served();
    const mallory = await dial(url, { ...dialling, credentials: "mallory" });
    const nobody = await dial(url, dialling);
    open.push(mallory, nobody);
    const refused = { code: "permission_denied", message: "not you", refused: true };
    await expect(mallory.unary(echo, { text: "" })).rejects.toMatchObject(refused);
    const text = "x".repeat(500_000);
    await expect(nobody.unary(echo, { text })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("are asked for anew for each session", async () => {
    const { url, dialling, server } = await served();
    let tokens = 0;
    const connection = await connect(url, { ...dialling, credentials: async () => `token ${++tokens}` });
    open.push(connection);
    expect(await connection.unary(echo, { text: "" })).toEqual({ text: "token 1" });
    const [session] = server.sessions;
    await session?.close({ closeCode: 7 });
    await connection.session?.closed;
    expect(await connection.unary(echo, { text: "" })).toEqual({ text: "token 2" });
  });

  it("of a client that says nothing are none, in half of the time for it", async () => {
    let decide!: () => void;
    const decided = new Promise<void>((resolve) => (decide = resolve));
    const { url, dialling } = await served({
      limits: { maxHandshakeMs: 200 },
      authenticate: async ({ credentials }) => {
        const said = String(await credentials);
        decide();
        return said;
      },
    });
    const session = await dial(url, dialling);
    open.push(session);
    await decided;
    expect(await session.unary(echo, { text: "" })).toEqual({ text: "undefined" });
  });

  it("larger than limits.maxGreetingBytes are refused, by the server", async () => {
    const { url, dialling } = await served({ limits: { maxGreetingBytes: 1024 } });
    const session = await dial(url, { ...dialling, credentials: "x".repeat(3000) });
    open.push(session);
    await expect(session.unary(echo, { text: "" })).rejects.toMatchObject({ code: "resource_exhausted" });
  });

  it("that cannot be had fail the attempt, and are asked for again", async () => {
    const { url, dialling } = await served();
    let asked = 0;
    const credentials = (): string => {
      if (++asked === 1) throw new Error("the vault is closed");
      return "bob";
    };
    await expect(dial(url, { ...dialling, credentials })).rejects.toThrow("the vault is closed");
    const connection = await connect(url, {
      ...dialling,
      credentials,
      advanced: { ...dialling.advanced, backoff: { initialMs: 1 } },
    });
    open.push(connection);
    expect(await connection.unary(echo, { text: "" })).toEqual({ text: "bob" });
  });
});

describe("greetings of peers that do not keep to the protocol", () => {
  /** A server over TCP that asks for credentials, and what `authenticate` got. */
  async function asking(limits: Partial<Limits> = {}): Promise<{ socket: Socket; asked: Promise<unknown> }> {
    let tell!: (asked: unknown) => void;
    const asked = new Promise<unknown>((resolve) => (tell = resolve));
    const server = await serve({
      listen: "tcp://127.0.0.1:0",
      routers: [router],
      limits,
      authenticate: async ({ credentials }, signal) => {
        tell(await credentials.catch((error: unknown) => error));
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    open.push(server);
    const socket = connectTcp(server.address.port, "127.0.0.1");
    socket.on("error", () => {});
    open.push({ close: async () => void socket.destroy() });
    return { socket, asked };
  }

  it.each([
    ["a first frame that is none of hello", "02 4003 0b 00 01", { code: "invalid_argument" }],
    ["another version", "02 4003 00 00 02", { code: "invalid_argument" }],
    ["a setting longer than its frame", "02 4005 00 00 01 03 3f", { code: "invalid_argument" }],
    ["a frame longer than may be", "02 80010000 00 00 01", { code: "resource_exhausted" }],
  ])("%s is told to authenticate", async (_, hex, error) => {
    const { socket, asked } = await asking();
    socket.write(Buffer.from(hex.replaceAll(" ", ""), "hex"));
    expect(await asked).toMatchObject(error);
  });

  it("a peer that leaves within its greeting is gone", async () => {
    const { socket, asked } = await asking();
    socket.end(Buffer.from("024008000001", "hex"));
    expect(await asked).toMatchObject({ code: "cancelled" });
  });

  it("what follows the greeting is held back until authenticate has decided", async () => {
    const { socket, asked } = await asking();
    const rest = 64 * 1024 * 1024;
    socket.write(
      Buffer.concat([Buffer.from("02 4008 00 00 01 03 03 616263".replaceAll(" ", ""), "hex"), Buffer.alloc(rest)]),
    );
    expect(await asked).toBe("abc");
    // The system holds some of it, at either end.
    expect(socket.writableLength).toBeGreaterThan(0);
  });
});
