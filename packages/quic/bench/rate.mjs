// Bulk over an emulated link: two network namespaces with packets of 1,500 bytes and a rate limit (veth and tbf), over QUIC with packets
// handed to the kernel together (GSO, GRO), over QUIC without, and over Node's own TLS 1.3. Linux only; needs root, ip and tc.
// Usage: [ROUNDS=3] [MEGABYTES=200] [RATES=1gbit,10gbit] node bench/rate.mjs
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import tls from "node:tls";
import { Endpoint } from "../dist/index.js";
import { ALPN, cpuSeconds, identity, median, on, pinned, servedTls, serving, startServer } from "./pair.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const BYTES = Number(process.env.MEGABYTES ?? 200) * 1e6;
const RATES = (process.env.RATES ?? "1gbit,10gbit").split(",");
const [SERVER, CLIENT] = ["a", "b"].map((end) => `quicrpc-rate-${end}`);
const DEVICE = "wire";
const HOST = "10.97.0.1";
const CHUNK = new Uint8Array(64_000);
/** Bytes that tbf lets through at once: less than what GSO hands over, so that it is cut into packets, as a network card does. */
const BURST = "32kb";

/** Counts what arrives, and answers at its end. */
function serve() {
  const identity = servedTls();
  const listen = (offload) => {
    const endpoint = Endpoint.bind({ host: HOST, offload });
    endpoint.listen({ alpn: ALPN, tls: identity }, (session) =>
      session.attach({
        onClosed() {},
        onStream: (stream) =>
          stream.attach(on({ borrows: true, onEnd: () => stream.write(CHUNK.subarray(0, 1), true) })),
      }),
    );
    return endpoint.address.port;
  };
  const ports = { together: listen(true), single: listen(false) };
  const server = tls.createServer({ ...identity, allowHalfOpen: true, minVersion: "TLSv1.3" }, (socket) =>
    socket.on("data", () => {}).on("end", () => socket.end("!")),
  );
  server.listen(0, HOST, () => serving({ ...ports, tls: server.address().port }));
}

/** Writes `BYTES` by `write`, which says whether to go on, and gets what goes on later. */
function writeAll(write) {
  let left = BYTES;
  return () => {
    while (left > 0) {
      left -= CHUNK.length;
      if (!write(left <= 0)) return;
    }
  };
}

async function overQuic({ port, offload, trust }) {
  const endpoint = Endpoint.bind({ offload });
  const session = await endpoint.connect({ host: HOST, port, alpn: ALPN, tls: pinned(trust) });
  const stream = session.openStream();
  const write = writeAll((last) => stream.write(CHUNK, last));
  await new Promise((resolve) => {
    stream.attach(on({ onDrain: write, onEnd: resolve }));
    write();
  });
  const { lostPackets, sentPackets } = session.stats();
  await endpoint.close();
  return (100 * lostPackets) / sentPackets;
}

async function overTls({ port, trust }) {
  const socket = tls.connect({ port, host: HOST, ca: trust.cert, servername: "localhost" });
  const write = writeAll((last) => (last ? socket.end(CHUNK) && false : socket.write(CHUNK)));
  await once(socket.on("drain", write), "secureConnect");
  write();
  await once(socket.resume(), "end");
  return 0;
}

async function client() {
  const trust = await identity();
  const inServer = ["ip", "netns", "exec", SERVER];
  const server = await startServer(import.meta.filename, trust, [], inServer);
  const { ports } = server;
  const ways = {
    "QUIC, GSO and GRO": () => overQuic({ port: ports.together, offload: true, trust }),
    "QUIC, packet by packet": () => overQuic({ port: ports.single, offload: false, trust }),
    "TLS 1.3 over TCP": () => overTls({ port: ports.tls, trust }),
  };
  const total = () => cpuSeconds(process.pid) + cpuSeconds(server.pid);
  for (const rate of RATES) {
    for (const end of [SERVER, CLIENT]) {
      const shaped = ["-n", end, "qdisc", "replace", "dev", DEVICE, "root", "tbf", "rate", rate, "burst", BURST];
      execFileSync("tc", [...shaped, "latency", "20ms"]);
    }
    const rows = new Map(Object.keys(ways).map((way) => [way, []]));
    for (let round = -1; round < ROUNDS; round++) {
      for (const [name, way] of Object.entries(ways)) {
        const [cpu, began] = [total(), performance.now()];
        const lost = await way();
        const seconds = (performance.now() - began) / 1000;
        if (round >= 0) rows.get(name).push([BYTES / 1e6 / seconds, ((total() - cpu) / BYTES) * 1e12, lost]);
      }
    }
    for (const [name, all] of rows) {
      const [speed, cpu, lost] = [0, 1, 2].map((column) => median(all.map((row) => row[column])));
      console.log(
        `${rate}, ${name}: ${speed.toFixed(0)} MB/s, ${cpu.toFixed(0)} µs of CPU a MB, ${lost.toFixed(2)}% lost`,
      );
    }
  }
  server.stop();
  process.exit();
}

/** Makes the link, runs the client at one end of it, and takes it down. */
async function main() {
  const ip = (...args) => execFileSync("ip", args, { stdio: ["ignore", "ignore", "inherit"] });
  const down = () => {
    for (const end of [SERVER, CLIENT]) execFileSync("ip", ["netns", "del", end], { stdio: "ignore" });
  };
  for (const end of [SERVER, CLIENT]) ip("netns", "add", end);
  try {
    ip("link", "add", DEVICE, "netns", SERVER, "type", "veth", "peer", "name", DEVICE, "netns", CLIENT);
    for (const [index, end] of [SERVER, CLIENT].entries()) {
      ip("-n", end, "addr", "add", `10.97.0.${index + 1}/24`, "dev", DEVICE);
      ip("-n", end, "link", "set", DEVICE, "mtu", "1500", "up");
      // Packets that were cut are put together again at the other end, as a network card's driver does.
      execFileSync("ip", ["netns", "exec", end, "ethtool", "-K", DEVICE, "gro", "on"], { stdio: "ignore" });
    }
    const command = ["netns", "exec", CLIENT, process.execPath, import.meta.filename, "client"];
    await once(spawn("ip", command, { stdio: "inherit" }), "exit");
  } finally {
    down();
  }
}

const roles = { serve, client };
await (roles[process.argv[2]] ?? main)();
