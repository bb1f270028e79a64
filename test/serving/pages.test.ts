// Which pages a server lets in, over every listener that speaks HTTP: what their browsers say in Origin and Host.
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, dial, serve, type ServeOptions } from "@quicrpc/node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { methods } from "../behaviour/service.js";
import { trustOf } from "../../packages/node/test/trust.js";
import { closedAfterEach } from "../open.js";
import { WEB_LISTENERS } from "./listeners.js";

const open = closedAfterEach();
let logged: string[] = [];
beforeEach(() => {
  logged = [];
  vi.spyOn(process, "emitWarning").mockImplementation(((text: string, { code }: { code: string }) => {
    if (code === "QUICRPC_PAGE_REFUSED") logged.push(text);
  }) as typeof process.emitWarning);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const { echo } = methods;
const router = createRouter({ echo }, { echo: (input) => input });

/** Asks for a session with the headers of a page; says "taken", or the status of the refusal. */
type PendingConnection = (headers: Record<string, string>) => Promise<string>;

async function served(
  url: string,
  options: Pick<ServeOptions, "allowedOrigins" | "advanced">,
): Promise<PendingConnection> {
  const { hash } = await devCertificate();
  const server = await serve({ listen: [url], tls: await devCertificate(), routers: [router], ...options });
  open.push(server);
  return async (headers) => {
    const { transports = [] } = options.advanced ?? {};
    const dialling = { ...trustOf(url, { hash }), advanced: { headers, transports } };
    try {
      const session = await dial(server.urls[0] as string, dialling);
      open.push(session);
      await session.unary(echo, { text: "" });
      return "taken";
    } catch (error) {
      return /\b[45]\d\d\b/.exec((error as Error).message)?.[0] ?? String(error);
    }
  };
}

describe.each(WEB_LISTENERS)("pages over $name", ({ listen: url, options: kind }) => {
  it("by default those of the same host may connect, whatever their scheme and port, and programs", async () => {
    const visit = await served(url, kind);
    for (const origin of ["https://127.0.0.1", "http://127.0.0.1:5173", "https://127.0.0.1:4433"]) {
      expect(await visit({ origin })).toBe("taken");
    }
    expect(await visit({})).toBe("taken");
    expect(logged).toEqual([]);
  });

  it("those of other hosts may not, and each is logged once, with the option that would let it in", async () => {
    const visit = await served(url, kind);
    const origins = [
      "https://evil.example",
      "http://localhost:5173",
      "http://127.0.0.1.evil.example",
      "null",
      "null://",
    ];
    for (const origin of [...origins, ...origins]) expect(await visit({ origin })).toBe("403");
    expect(logged).toHaveLength(origins.length);
    for (const [at, origin] of origins.entries()) {
      expect(logged[at]).toContain(`serve({ allowedOrigins: [${JSON.stringify(origin)}] })`);
    }
  });

  it("those that are named may, and no others", async () => {
    const visit = await served(url, { ...kind, allowedOrigins: ["https://app.example", "null"] });
    expect(await visit({ origin: "https://app.example" })).toBe("taken");
    expect(await visit({ origin: "null" })).toBe("taken");
    expect(await visit({ origin: "http://127.0.0.1:1" })).toBe("taken");
    for (const origin of ["http://app.example", "https://app.example:8443", "https://app.example.evil.example"]) {
      expect(await visit({ origin })).toBe("403");
    }
  });

  it("a flood of origins is logged a hundred times, and each not in full", async () => {
    const visit = await served(url, kind);
    for (let i = 0; i < 105; i++) {
      expect(await visit({ origin: `https://${i}.example/${"x".repeat(1000)}` })).toBe("403");
    }
    expect(logged).toHaveLength(100);
    expect(logged[99]).toMatch(/further refusals are not logged$/);
    for (const line of logged) expect(line.length).toBeLessThan(1000);
  });
});

describe("names of a server without TLS", () => {
  const url = "ws://127.0.0.1:0/rpc";

  it("a page whose own name leads to this machine is refused, and the option that would allow it is logged", async () => {
    const visit = await served(url, {});
    const rebound = { origin: "http://evil.example:8080", host: "evil.example:8080" };
    expect(await visit(rebound)).toBe("421");
    expect(await visit(rebound)).toBe("421");
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('add "evil.example" to allowedHosts of serve()');
  });

  it.each(["127.0.0.1", "[::1]:8080", "localhost", "LOCALHOST.:80"])("%s is no such name", async (host) => {
    const visit = await served(url, {});
    expect(await visit({ origin: `http://${host}`, host })).toBe("taken");
  });

  it.each(["127.0.0.1.evil.example", "localhost.evil.example", "::1", "a b", "127.0.0.1@evil.example"])(
    "%o is not one of this server's",
    async (host) => {
      const visit = await served(url, { allowedOrigins: ["https://app.example"] });
      expect(await visit({ origin: "https://app.example", host })).toMatch(/4\d\d/);
    },
  );

  it("names that are configured may be used, in allowedHosts, allowedOrigins or the listener's URL", async () => {
    const visit = await served("ws://localhost:0/rpc", {
      allowedOrigins: ["https://app.example"],
      advanced: { allowedHosts: ["api.example"] },
    });
    expect(await visit({ origin: "https://api.example", host: "api.example" })).toBe("taken");
    expect(await visit({ origin: "https://app.example", host: "api.example:80" })).toBe("taken");
    expect(await visit({ origin: "https://app.example", host: "app.example" })).toBe("taken");
    expect(await visit({ origin: "https://app.example", host: "www.app.example" })).toBe("421");
  });

  it("what a terminal acts on is not logged as it came", async () => {
    const visit = await served(url, {});
    expect(await visit({ origin: "https://\u009b2J.example" })).toBe("403");
    expect(logged[0]).toMatch(/^[\x20-\x7e]+$/);
  });

  it("programs use any name, as they send no Origin", async () => {
    const visit = await served(url, {});
    expect(await visit({ host: "orders.internal" })).toBe("taken");
  });
});
