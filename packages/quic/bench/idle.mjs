// Memory of idle connections at either end: each has echoed once and then rests.
// Usage: node --expose-gc bench/idle.mjs [connections] [quic|webtransport]
import { Endpoint } from "../dist/index.js";
import { ALPN, echo, identity, on, pinned, servedTls, serving, startServer } from "./pair.mjs";

const [first = "1000", kind = "quic"] = process.argv.slice(2);
const transport = { idleTimeoutMs: 0, maxSessions: 100_000 };

/** Resident bytes after everything that is garbage has gone. */
async function resident() {
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage();
}

async function serve() {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: servedTls(), transport, webTransport: {} }, echo);
  serving(endpoint.address.port, (_, reply) => {
    void resident().then((memory) => reply({ ...memory, sessions: endpoint.stats().sessions }));
  });
}

async function main() {
  const count = Number(first);
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const port = server.ports;
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const dial = () =>
    kind === "quic"
      ? endpoint.connect({ host: "127.0.0.1", port, alpn: ALPN, tls: pinned(tls), transport })
      : endpoint.connectWebTransport(`https://127.0.0.1:${port}/`, { tls: pinned(tls), transport });
  const sessions = [];
  const connect = async () => {
    const session = await dial();
    session.attach({ onStream() {}, onClosed() {} });
    await new Promise((resolve) => {
      const stream = session.openStream();
      stream.attach(on({ onEnd: resolve }));
      stream.write(new Uint8Array(32), true);
    });
    sessions.push(session);
  };
  const grow = async (to) => {
    let left = to - sessions.length;
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        while (left-- > 0) await connect();
      }),
    );
  };
  // Memory that the first connections load and reserve once is not theirs.
  await grow(100);
  const before = [await server.ask("memory"), await resident()];
  await grow(100 + count);
  const after = [await server.ask("memory"), await resident()];
  console.log(
    `${count} idle ${kind} connections, node ${process.version}; ${after[0].sessions} sessions at the server`,
  );
  for (const [index, end] of ["server", "client"].entries()) {
    const each = (field) => `${((after[index][field] - before[index][field]) / count / 1024).toFixed(1)} KiB`;
    console.log(`${end}  ${each("rss").padStart(10)} each; of these in JavaScript's heap ${each("heapUsed")}`);
  }
  server.stop();
  process.exit();
}

await (process.argv[2] === "serve" ? serve() : main());
