// Connect to first reply: raw QUIC and WebTransport beside Node's own TLS 1.3, each time a new connection, in turn.
// Usage: [ROUNDS=300] node bench/connect.mjs
import tls from "node:tls";
import { Endpoint } from "../dist/index.js";
import { ALPN, cpuSeconds, echo, identity, median, on, pinned, servedTls, serving, startServer } from "./pair.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 300);
const HELLO = new Uint8Array(32);

async function serve() {
  const identity = servedTls();
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: identity, webTransport: {} }, echo);
  const server = tls.createServer({ ...identity, minVersion: "TLSv1.3" }, (socket) => socket.setNoDelay().pipe(socket));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  serving({ quic: endpoint.address.port, tls: server.address().port });
}

function firstReply(session) {
  return new Promise((resolve) => {
    const stream = session.openStream();
    stream.attach(on({ onEnd: resolve }));
    stream.write(HELLO, true);
  });
}

async function main() {
  const trust = await identity();
  const server = await startServer(import.meta.filename, trust);
  const { ports } = server;
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const ways = {
    async TLS() {
      const socket = tls.connect({ port: ports.tls, host: "127.0.0.1", ca: trust.cert, servername: "localhost" });
      socket.setNoDelay().write(HELLO);
      await new Promise((resolve, reject) => socket.once("data", resolve).once("error", reject));
      socket.destroy();
    },
    async QUIC() {
      const session = await endpoint.connect({ host: "127.0.0.1", port: ports.quic, alpn: ALPN, tls: pinned(trust) });
      await firstReply(session);
      session.close();
    },
    async WebTransport() {
      const session = await endpoint.connectWebTransport(`https://127.0.0.1:${ports.quic}/`, { tls: pinned(trust) });
      await firstReply(session);
      session.close();
    },
  };
  const times = new Map();
  const cpu = new Map();
  for (const name of Object.keys(ways)) [times, cpu].map((by) => by.set(name, []));
  const total = () => cpuSeconds(process.pid) + cpuSeconds(server.pid);
  const BATCH = 20;
  for (let round = 0; round < ROUNDS + BATCH; round += BATCH) {
    for (const [name, way] of Object.entries(ways)) {
      const before = total();
      for (let n = 0; n < BATCH; n++) {
        const start = performance.now();
        await way();
        // The first batch warms up.
        if (round > 0) times.get(name).push(performance.now() - start);
      }
      if (round > 0) cpu.get(name).push((total() - before) / BATCH);
    }
  }
  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  console.log(`connect to first reply, ${ROUNDS} times each, node ${process.version}`);
  for (const name of Object.keys(ways)) {
    const ratio = median(times.get(name)) / median(times.get("TLS"));
    console.log(
      `${name.padEnd(13)} median ${median(times.get(name)).toFixed(2)} ms, ${ratio.toFixed(2)} of TLS; CPU of both ends ${(mean(cpu.get(name)) * 1000).toFixed(2)} ms`,
    );
  }
  server.stop();
  await endpoint.close();
}

await (process.argv[2] === "serve" ? serve() : main());
