// Echo over loopback in two processes: raw QUIC, WebTransport, raw QUIC through the client's W3C members, and Node's own
// TLS 1.3 and plain TCP, in turn.
// Usage: [ROUNDS=3] [QUICRPC_DRIVER=loop|thread] node bench/echo.mjs [sequential|calls|frames|bulk]
import { Endpoint } from "../dist/index.js";
import { ALPN, cpuSeconds, identity, median, pinned, servedTls, serving, startServer } from "./pair.mjs";
import { listen, overTcp, overTls } from "./sockets.mjs";
import { answer, direct, oneStream, w3c } from "./workloads.mjs";

const [only = ""] = process.argv.slice(2);
const WARM_UP_MS = 2000;
const ROUNDS = Number(process.env.ROUNDS ?? 3);

async function serve() {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: servedTls(), webTransport: {} }, answer);
  serving({ quic: endpoint.address.port, ...(await listen(servedTls(), answer)) });
}

async function main() {
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const { ports } = server;
  const port = ports.quic;
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  // None idles out while it waits for its turn.
  const transport = { keepAliveIntervalMs: 5000 };
  const quic = await endpoint.connect({ host: "127.0.0.1", port, alpn: ALPN, tls: pinned(tls), transport });
  const web = await endpoint.connectWebTransport(`https://127.0.0.1:${port}/`, { tls: pinned(tls), transport });
  const faces = {
    QUIC: [quic, direct],
    WebTransport: [web, direct],
    "QUIC, W3C": [quic, w3c],
    TLS: [overTls(ports.tls, tls.cert), oneStream],
    TCP: [overTcp(ports.tcp), oneStream],
  };
  console.log(`driver ${endpoint.driver}, node ${process.version}`);
  for (const { what, name, count } of direct) {
    if (only !== "" && only !== what) continue;
    const measured = new Map();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [face, [session, workloads]] of Object.entries(faces)) {
        const workload = workloads.find((one) => one.name === name);
        if (workload === undefined) continue;
        if (round === 0) await warmUp(workload, session);
        const each = await measure(`${face.padEnd(13)} ${name.padEnd(32)}`, count, server, () =>
          workload.run(session, count),
        );
        measured.set(face, [...(measured.get(face) ?? []), each]);
      }
    }
    const of = (face, what) => median(measured.get(face).map((one) => one[what]));
    for (const face of measured.keys()) {
      const ratio = (what) => (of(face, what) / of("QUIC", what)).toFixed(2);
      if (face !== "QUIC")
        console.log(`${name}: ${face} has ${ratio("rate")} of the rate of raw QUIC, and ${ratio("cpu")} of its CPU`);
    }
  }
  server.stop();
  await endpoint.close();
}

/** Until the hot code is compiled on both sides. */
async function warmUp({ run, count }, session) {
  const end = performance.now() + WARM_UP_MS;
  do await run(session, Math.ceil(count / 20));
  while (performance.now() < end);
}

/** Returns how many of `count` a second did, and the CPU seconds of both processes for each. */
async function measure(label, count, server, run) {
  const cpu = () => cpuSeconds(process.pid) + cpuSeconds(server.pid);
  const [cpu0, t0] = [cpu(), performance.now()];
  await run();
  const seconds = (performance.now() - t0) / 1000;
  const each = { cpu: (cpu() - cpu0) / count, rate: count / seconds };
  console.log(
    `${label} ${each.rate.toLocaleString("en", { maximumFractionDigits: each.rate > 100 ? 0 : 2 }).padStart(12)}/s   ${(each.cpu * 1e6).toFixed(2)} µs CPU each`,
  );
  return each;
}

await (process.argv[2] === "serve" ? serve() : main());
