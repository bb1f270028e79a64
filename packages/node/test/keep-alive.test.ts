// One option for pings, whatever the transport.
import { connect, dial, serve, type TransportProvider } from "@quicrpc/node";
import { describe, expect, it } from "vitest";

/** Settings of the connections that are dialled or listened for, over a transport that makes none. */
const asked: unknown[] = [];
const provider: TransportProvider = {
  name: "a test",
  schemes: ["asked:"],
  abilities: { sessions: true, streams: true },
  dial: async (_url, { transport }) => {
    asked.push(transport);
    throw Object.assign(new Error("there is none"), { permanent: true });
  },
  listen: async (_target, { transport }) => {
    asked.push(transport);
    throw new Error("there is none");
  },
};
const transports = [provider];

describe.each([
  ["dial", (options: object) => dial("asked://host", { transports, ...options })],
  ["connect", (options: object) => connect("asked://host", { transports, ...options })],
  ["serve", (options: object) => serve({ listen: ["asked://host"], routers: [], transports, ...options })],
])("keepAlive of %s", (_name, attempt) => {
  const settings = async (options: object): Promise<unknown> => {
    await expect(attempt(options)).rejects.toThrow("there is none");
    return asked.pop();
  };

  it("sets the pings and the idle timeout of QUIC", async () => {
    const keepAlive = { intervalMs: 100, timeoutMs: 200 };
    expect(await settings({ keepAlive })).toMatchObject({ keepAliveIntervalMs: 100, idleTimeoutMs: 300 });
    expect(await settings({ keepAlive: {} })).toMatchObject({ keepAliveIntervalMs: 15_000, idleTimeoutMs: 35_000 });
    const transport = { idleTimeoutMs: 1000 };
    expect(await settings({ keepAlive, transport })).toMatchObject({ keepAliveIntervalMs: 100, idleTimeoutMs: 1000 });
  });

  it("switches them off, and leaves them as they are", async () => {
    expect(await settings({ keepAlive: false })).toMatchObject({ keepAliveIntervalMs: 0 });
    expect((await settings({})) ?? {}).not.toHaveProperty("keepAliveIntervalMs");
  });
});
