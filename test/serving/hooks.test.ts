// Hooks of a server that throw or reject, over every listener: each costs the peer its session and goes to onError, and the
// process goes on. (An exception or rejection that nobody catches fails the run.)
import type { RpcError } from "@quicrpc/core";
import type { ErrorHook } from "@quicrpc/core/internal";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, dial, type DialOptions, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { describe, expect, it } from "vitest";
import { certificate } from "../../packages/quic/test/certificates.js";
import { methods } from "../behaviour/service.js";
import { trustOf } from "../../packages/node/test/trust.js";
import { closedAfterEach } from "../open.js";
import { LISTENERS, WEB_LISTENERS } from "./listeners.js";

const open = closedAfterEach();

const { echo } = methods;
const router = createRouter({ echo }, { echo: (input) => input });

/** Ways to fail: a function that throws, one that rejects, and one that throws what is no error. */
const WAYS: [name: string, fail: (what: string) => void][] = [
  [
    "throws",
    (what) => {
      throw new Error(what);
    },
  ],
  ["rejects", (what) => Promise.reject(new Error(what))],
];

describe.each(LISTENERS)("hooks of a server over $name", ({ listen: url, options: kind }) => {
  /** Collects what `onError` receives. */
  class Errors {
    readonly seen: string[] = [];
    private readonly waiting: (() => void)[] = [];

    readonly onError: ErrorHook = (error, { method }) => {
      this.seen.push(`${method}: ${(error as Error).message}`);
      for (const wake of this.waiting.splice(0)) wake();
    };

    async until(count: number): Promise<string[]> {
      while (this.seen.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
      return this.seen;
    }
  }

  async function served(options: Partial<ServeOptions>): Promise<Server> {
    const server = await serve({
      listen: [url],
      tls: await devCertificate(),
      routers: [router],
      ...kind,
      ...options,
      advanced: { ...kind.advanced, ...options.advanced },
    });
    open.push(server);
    return server;
  }

  async function echoed(server: Server, options: DialOptions = {}): Promise<string> {
    const url = server.urls[0] as string;
    const session = await dial(url, {
      ...trustOf(url, await devCertificate()),
      ...kind,
      ...options,
      advanced: { ...kind.advanced, ...options.advanced },
    });
    try {
      return (await session.unary(echo, { text: "on" })).text;
    } finally {
      await session.close();
    }
  }

  describe.each(WAYS)("that %s", (_, fail) => {
    it("authenticate refuses that peer", async () => {
      const errors = new Errors();
      let peers = 0;
      const { onError } = errors;
      const authenticate = (): unknown => (++peers === 1 ? fail("what was sent is odd") : undefined);
      const server = await served({ authenticate, onError });
      await expect(echoed(server)).rejects.toMatchObject({ code: "internal", refused: true });
      expect(await errors.until(1)).toEqual(["authenticate: what was sent is odd"]);
      expect(await echoed(server)).toBe("on");
    });

    it("onSession ends that session", async () => {
      const errors = new Errors();
      let peers = 0;
      const { onError } = errors;
      const server = await served({
        onError,
        advanced: { onSession: () => (++peers === 1 ? fail("no session") : undefined) },
      });
      await expect(echoed(server)).rejects.toMatchObject({ code: "internal" });
      expect(await errors.until(1)).toEqual(["onSession: no session"]);
      expect(await echoed(server)).toBe("on");
    });

    it("onRefused costs nobody anything", async () => {
      const errors = new Errors();
      let peers = 0;
      const server = await served({
        authenticate: () => {
          if (++peers === 1) throw new Error("first");
        },
        onError: errors.onError,
        advanced: { onRefused: () => fail("refused") },
      });
      await expect(echoed(server)).rejects.toMatchObject({ code: "internal" });
      expect(await echoed(server)).toBe("on");
      expect(await errors.until(2)).toEqual(["authenticate: first", "onRefused: refused"]);
      expect(await echoed(server)).toBe("on");
    });
  });
});

describe.each(WAYS)("a hook that %s", (_, fail) => {
  it("onError itself is logged, with what it received", async () => {
    const logged: string[] = [];
    const original = console.error;
    console.error = (...given: unknown[]) => void logged.push(given.map(String).join(" "));
    try {
      let peers = 0;
      const server = await serve({
        listen: ["tcp://127.0.0.1:0"],
        routers: [router],
        authenticate: () => {
          if (++peers === 1) throw new Error("first");
        },
        onError: () => fail("in onError"),
      });
      open.push(server);
      const refused = await dial(server.urls[0] as string);
      await expect(refused.unary(echo, { text: "" })).rejects.toMatchObject({ code: "internal" });
      const next = await dial(server.urls[0] as string);
      open.push(next);
      expect(await next.unary(echo, { text: "on" })).toEqual({ text: "on" });
      expect(logged.join("\n")).toMatch(/authenticate failed: .*first[\s\S]*onError failed: .*in onError/);
    } finally {
      console.error = original;
    }
  });
});

describe.each(LISTENERS)("a loadShedder that throws, over $name", ({ listen: url, options: kind }) => {
  it.each(["objection", "onCalls"] as const)("in %s goes to onError, and costs no session", async (where) => {
    const errors: string[] = [];
    let fails = true;
    const fail = (): undefined => {
      if (fails) throw new Error("no load");
      return undefined;
    };
    const server = await serve({
      listen: [url],
      tls: await devCertificate(),
      routers: [createRouter({ echo }, { echo: async (input) => input })],
      onError: (error, { method }) => void errors.push(`${method}: ${(error as Error).message}`),
      ...kind,
      advanced: { loadShedder: { objection: () => undefined, [where]: fail }, ...kind.advanced },
    });
    open.push(server);
    const dialled = server.urls[0] as string;
    const session = await dial(dialled, { ...trustOf(dialled, await devCertificate()), ...kind });
    open.push(session);
    const outcome = await session.unary(echo, { text: "" }).then(
      () => "served",
      ({ code, refused }: RpcError) => `${code} ${refused}`,
    );
    expect(outcome).toBe(where === "objection" ? "unavailable true" : "served");
    expect(new Set(errors)).toEqual(new Set(["loadShedder: no load"]));
    fails = false;
    expect(await session.unary(echo, { text: "on" })).toEqual({ text: "on" });
  });
});

/** Those whose requests have headers. */
describe.each(WEB_LISTENERS)("allowedOrigins over $name", ({ listen: url, options: kind }) => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("what an origin");
      },
      "what an origin",
    ],
    ["returns a promise", () => Promise.resolve(true), "allowedOrigins must return true or false, not a promise"],
    [
      "rejects",
      () => Promise.reject(new Error("what an origin")),
      "allowedOrigins must return true or false, not a promise",
    ],
  ])("that %s refuses that peer", async (_, allowedOrigins, message) => {
    const errors: string[] = [];
    const server = await serve({
      listen: [url],
      tls: await devCertificate(),
      routers: [router],
      allowedOrigins: allowedOrigins as unknown as () => boolean,
      onError: (error, { method }) => void errors.push(`${method}: ${(error as Error).message}`),
      ...kind,
    });
    open.push(server);
    const options = { ...trustOf(url, await devCertificate()), ...kind };
    const refused = dial(server.urls[0] as string, {
      ...options,
      advanced: { ...options.advanced, headers: { origin: "https://odd.example" } },
    });
    await expect(refused).rejects.toThrow(/500/);
    expect(errors).toEqual([`allowedOrigins: ${message}`]);
    const session = await dial(server.urls[0] as string, options);
    open.push(session);
    expect(await session.unary(echo, { text: "on" })).toEqual({ text: "on" });
  });
});

describe.runIf(process.env["QUICRPC_NO_ENGINE"] === undefined)("hooks of an endpoint", () => {
  it("cost the peer its session, and go to its onError", async () => {
    const { cert, key, hash } = await devCertificate();
    const errors: unknown[] = [];
    let wake = (): void => {};
    const onError = (error: unknown): void => {
      errors.push((error as Error).message);
      wake();
    };
    const endpoint = Endpoint.bind({ host: "127.0.0.1", onError });
    open.push(endpoint);
    const fail = (what: string): never => {
      throw new Error(what);
    };
    endpoint.listen(
      {
        alpn: ["test/1"],
        tls: { cert, key },
        webTransport: { onRequest: () => fail("onRequest") },
        onHandshakeError: () => fail("onHandshakeError"),
      },
      () => fail("onSession"),
    );
    const client = Endpoint.bind({ host: "127.0.0.1" });
    open.push(client);
    const { port } = endpoint.address;
    const to = { host: "127.0.0.1", port, alpn: ["test/1"] };
    const tls = { serverCertificateHashes: [hash] };
    const session = await client.connect({ ...to, tls });
    expect(await session.closed).toMatchObject({ closeCode: 1 });
    const request = client.connectWebTransport(`https://127.0.0.1:${port}/`, { tls });
    await expect(request).rejects.toMatchObject({ status: 500 });
    const told = new Promise<void>((resolve) => (wake = resolve));
    await expect(client.connect({ ...to, tls: { ca: (await certificate({ ca: true })).cert } })).rejects.toMatchObject({
      source: "tls",
    });
    await told;
    expect(errors).toEqual(["onSession", "onRequest", "onHandshakeError"]);
  });
});
