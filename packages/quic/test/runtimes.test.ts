import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { certificate, type TestCertificate } from "./certificates.js";

/** An echo server and a session of it, in one process of another runtime. */
const WORLD = (tls: object, hash: readonly number[]): string => `
  import { connect, Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
  const on = (events) => ({ onData() {}, onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {}, ...events });
  const server = Endpoint.bind({ host: "127.0.0.1" });
  server.listen({ alpn: ["echo"], tls: ${JSON.stringify(tls)} }, (session) => session.attach({
    onStream: (stream) => stream.attach(on({
      onData: (chunk) => { if (!stream.write(chunk)) stream.pause(); },
      onDrain: () => stream.resume(),
      onEnd: () => stream.write(new Uint8Array(0), true),
    })),
    onClosed() {},
  }));
  const value = new Uint8Array(${JSON.stringify(hash)});
  const session = await connect({ host: "127.0.0.1", port: server.address.port, alpn: ["echo"],
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] } });
  const echo = (data) => new Promise((resolve, reject) => {
    let received = 0;
    const stream = session.openStream();
    stream.attach(on({ onData: (chunk) => (received += chunk.length), onEnd: () => resolve(received), onClosed: reject }));
    stream.write(data, true);
  });`;

const RUNTIMES = {
  bun: { command: process.env["QUICRPC_BUN"] ?? "bun", args: ["run", "-"] },
  deno: { command: process.env["QUICRPC_DENO"] ?? "deno", args: ["run", "--allow-all", "--no-lock", "-"] },
};

for (const [name, { command, args }] of Object.entries(RUNTIMES)) {
  const found = spawnSync(command, ["--version"]).status === 0;
  if (!found)
    console.log(
      `skipped: ${name} is not installed (npm install -g ${name}, or name it in QUICRPC_${name.toUpperCase()})`,
    );
  describe.skipIf(!found)(`${name}, thread driver`, () => {
    let tls: TestCertificate;
    beforeAll(async () => {
      tls = await certificate();
    });

    async function run(body: string): Promise<{ code: number | null; out: string }> {
      const child = spawn(command, args, { env: { ...process.env, QUICRPC_DRIVER: "thread" } });
      let out = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (out += String(chunk)));
      const { cert, key, hash } = tls;
      child.stdin.end(WORLD({ cert, key }, [...hash]) + body);
      const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
      return { code, out: out.trim() };
    }

    test("an echo server and its client, and the process exits by itself", async () => {
      const body = `
        const received = await echo(new Uint8Array(1_000_000));
        const { readable, writable } = await session.createBidirectionalStream();
        const writer = writable.getWriter();
        writer.write(new TextEncoder().encode("hello"));
        writer.close();
        let text = "";
        for await (const chunk of readable) text += new TextDecoder().decode(chunk);
        session.close();
        await server.close();
        console.log(server.driver, received, text);`;
      expect(await run(body)).toEqual({ code: 0, out: "thread 1000000 hello" });
    });

    test("a listening endpoint that is unref'd does not keep the process", async () => {
      const body = `
        console.log(await echo(new Uint8Array(1000)));
        server.unref();
        session.close();`;
      expect(await run(body)).toEqual({ code: 0, out: "1000" });
    });

    test("process.exit with live sessions", async () => {
      const body = `
        console.log(await echo(new Uint8Array(1000)));
        session.openStream().write(new Uint8Array(100));
        process.exit(7);`;
      expect(await run(body)).toEqual({ code: 7, out: "1000" });
    });

    test("an uncaught exception with live sessions", async () => {
      const { code, out } = await run(`await echo(new Uint8Array(1000)); throw new Error("nobody catches this");`);
      expect(code).toBe(1);
      expect(out).toContain("nobody catches this");
    });

    // Deno's test runner ends the engine's objects first, and then runs what JavaScript has left to do.
    if (name !== "deno") return;
    test("calls that are left when a test runner has ended", async () => {
      const folder = mkdtempSync(join(tmpdir(), "quicrpc-deno-"));
      try {
        const file = join(folder, "left.test.mjs");
        const body = `
          console.log(await echo(new Uint8Array(1000)));
          addEventListener("unload", () => {
            for (let i = 0; i < 10; i++) session.openStream().write(new Uint8Array(100));
          });`;
        const { cert, key, hash } = tls;
        const [imports, ...world] = WORLD({ cert, key }, [...hash])
          .trim()
          .split("\n");
        const text = `Deno.test({ name: "echo", sanitizeOps: false, sanitizeResources: false, fn: async () => {`;
        writeFileSync(file, [imports, text, ...world, body, "} });"].join("\n"));
        const child = spawn(command, ["test", "--allow-all", "--no-lock", file], {
          env: { ...process.env, QUICRPC_DRIVER: "thread" },
          stdio: "ignore",
        });
        expect(await once(child, "close")).toEqual([0, null]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });
}
