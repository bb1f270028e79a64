// A server that is killed and started again under many clients that go on calling: no session waits for another's.
import { appendFileSync } from "node:fs";
import type { Connection } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, devCertificate } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { ServerProcess } from "../../packages/node/test/restarted-server.js";
import { trustOf } from "../../packages/node/test/trust.js";

const service = { name: "test.v1.Restarted", id: 7101 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec<number>() });

const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
const kinds = [
  // More than a server lets one address have under way.
  ...(engine ? ["quic:", "https:"].map((scheme) => ({ scheme, few: 300 })) : []),
  ...["tls:", "wss:"].map((scheme) => ({ scheme, few: 50 })),
];
const accounts = process.env["QUICRPC_CHAOS_RESTARTS"];
const MANY = 1000;
const PAUSE_MS = 100;

/** A connection that makes one call after the other. */
class BusyClient {
  /** Sessions lost and dials failed since the restart. */
  failures = 0;
  private onAnswer: (() => void) | undefined;
  private stopped = false;
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  async run(): Promise<void> {
    void this.count();
    while (!this.stopped) {
      try {
        await this.connection.unary(pid, undefined, { timeoutMs: 60_000 });
        this.onAnswer?.();
      } catch {
        // The session was lost with the call.
      }
      // oxlint-disable-next-line eslint/no-restricted-globals -- calls come at random
      await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE_MS));
    }
  }

  answered(): Promise<void> {
    return new Promise((resolve) => {
      this.onAnswer = resolve;
    });
  }

  /** The server has come back. Returns how many milliseconds it takes until a call is answered. */
  async restarted(): Promise<number> {
    this.failures = 0;
    const since = performance.now();
    await this.answered();
    return performance.now() - since;
  }

  stop(): Promise<unknown> {
    this.stopped = true;
    return this.connection.close();
  }

  private async count(): Promise<void> {
    for await (const state of this.connection.states()) {
      if (state.status === "connecting" && state.retryAt !== undefined) this.failures++;
    }
  }
}

describe.each(kinds)("a restart under many busy clients, over $scheme", ({ scheme, few }) => {
  const count = accounts === undefined ? few : MANY;

  it("is noticed by all at once, and none is refused when it comes back", { timeout: 120_000 }, async () => {
    const { cert, key, hash } = await devCertificate();
    const settings = { url: `${scheme}//127.0.0.1`, tls: { cert, key } };
    let server = await ServerProcess.start(settings);
    const { port } = server;
    const dial = (): Promise<Connection> =>
      connect(`${scheme}//127.0.0.1:${port}/`, { ...trustOf(scheme, { hash }), timeoutMs: 60_000 });
    const dialled = performance.now();
    const clients = (await Promise.all(Array.from({ length: count }, dial))).map((one) => new BusyClient(one));
    const dialling = performance.now() - dialled;
    const runs = clients.map((client) => client.run());
    try {
      await Promise.all(clients.map((client) => client.answered()));
      await server.end("SIGKILL");
      server = await ServerProcess.start({ ...settings, port });
      const healed = await Promise.all(clients.map((client) => client.restarted()));
      healed.sort((a, b) => a - b);
      const failures = clients.reduce((sum, client) => sum + client.failures, 0);
      const account = { scheme, clients: count, failures, half: healed[count / 2], all: healed.at(-1) };
      if (accounts !== undefined) appendFileSync(accounts, `${JSON.stringify(account)}\n`);
      // Were they all to dial at once, the server would refuse most of them, and those again and again.
      expect(failures).toBeLessThan(1.5 * count);
      // About as long as they took to come, on a machine that may have other work to do.
      expect(account.all).toBeLessThan(2000 + 3 * dialling);
    } finally {
      await Promise.all(clients.map((client) => client.stop()));
      await Promise.all(runs);
      await server.end("SIGKILL");
    }
  });
});
