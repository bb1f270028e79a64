// Servers in processes of their own that end without a drain and are started again on their port, all defaults.
import type { Connection } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, devCertificate } from "@quicrpc/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../../../test/behaviour/tools.js";
import { ENDS, type ServerSettings, ServerProcess } from "./restarted-server.js";
import { trustOf } from "./trust.js";

const service = { name: "test.v1.Restarted", id: 7101 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec<number>() });
const wait = defineMethod(service, "unary", "wait", { id: 2 });
const quiet = defineMethod(service, "server_stream", "quiet", { id: 3, output: uncheckedCodec<number>() });

/** From the moment the new server listens; all of it on a machine that may have other work to do. */
const AT_ONCE_MS = 1000;

/** A lost connection is known the same way however the server ended, where the system tells of it. */
const KILLED = ["SIGKILL"] as const;
const kinds = [
  { name: "QUIC", scheme: "quic", ends: ENDS },
  { name: "WebTransport", scheme: "https", ends: ENDS },
  { name: "TCP", scheme: "tcp", ends: KILLED },
  { name: "TLS", scheme: "tls", ends: KILLED },
  { name: "WebSocket", scheme: "ws", ends: KILLED },
  { name: "WebSocket over TLS", scheme: "wss", ends: KILLED },
] as const;

describe.each(kinds)("restart: $name", ({ scheme, ends }) => {
  let settings: ServerSettings;
  let server: ServerProcess;
  let connection: Connection;

  beforeEach(async () => {
    const { cert, key, hash } = await devCertificate();
    settings = { url: `${scheme}://127.0.0.1`, tls: { cert, key } };
    server = await ServerProcess.start(settings);
    settings = { ...settings, port: server.port };
    connection = await connect(`${scheme}://127.0.0.1:${server.port}/`, trustOf(`${scheme}:`, { hash }));
  });
  afterEach(async () => {
    await connection.close();
    await server.end("SIGKILL");
  });

  /** Calls, one after the other, until one is answered. Returns how long that took. */
  async function firstGood(): Promise<number> {
    const since = performance.now();
    for (;;) {
      try {
        await connection.unary(pid, undefined, { timeoutMs: 60_000 });
        return performance.now() - since;
      } catch {
        // The session was lost with the call.
      }
    }
  }

  it.each(ends)("C74 is noticed at once by the next call after %s", async (how) => {
    const before = await connection.unary(pid, undefined);
    await server.end(how);
    server = await ServerProcess.start(settings);
    expect(await firstGood()).toBeLessThan(AT_ONCE_MS);
    expect(await connection.unary(pid, undefined)).not.toBe(before);
  });

  it.each(ends)("C74 fails the calls that wait after %s, while it is away", async (how) => {
    await connection.unary(pid, undefined);
    const waiting = failure(connection.unary(wait, undefined, { timeoutMs: 60_000 }));
    const reader = connection.serverStream(quiet, undefined).getReader();
    await reader.read();
    const reading = failure(reader.read());
    await server.end(how);
    const since = performance.now();
    expect(await waiting).toMatchObject({ code: "unavailable" });
    expect(await reading).toMatchObject({ code: "unavailable" });
    expect(performance.now() - since).toBeLessThan(AT_ONCE_MS);
    server = await ServerProcess.start(settings);
    expect(await firstGood()).toBeLessThan(AT_ONCE_MS);
  });
});
