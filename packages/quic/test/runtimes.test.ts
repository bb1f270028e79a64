import { spawn, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { certificate } from "./certificates.js";

/** An echo server and its client in one process of another runtime. */
const PROGRAM = (tls: object, hash: readonly number[]): string => `
  import { Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
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
  const client = Endpoint.bind({ host: "127.0.0.1" });
  const session = await client.connect({ host: "127.0.0.1", port: server.address.port, alpn: ["echo"],
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] } });
  let received = 0;
  await new Promise((resolve, reject) => {
    const stream = session.openStream();
    stream.attach(on({ onData: (chunk) => (received += chunk.length), onEnd: resolve, onClosed: reject }));
    stream.write(new Uint8Array(1_000_000), true);
  });
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  writer.write(new TextEncoder().encode("hello"));
  writer.close();
  let text = "";
  for await (const chunk of readable) text += new TextDecoder().decode(chunk);
  await client.close();
  await server.close();
  console.log(server.driver, received, text);`;

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
  test.skipIf(!found)(`${name} runs an echo server and its client under the thread driver`, async () => {
    const { cert, key, hash } = await certificate();
    const child = spawn(command, args, { env: { ...process.env, QUICRPC_DRIVER: "thread" } });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (out += String(chunk)));
    child.stdin.end(PROGRAM({ cert, key }, [...hash]));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: "thread 1000000 hello" });
  });
}
