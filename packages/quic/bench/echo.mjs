// Echo over loopback in two processes: raw QUIC, WebTransport, and raw QUIC through the client's W3C members, in turn.
// Usage: [ROUNDS=3] [QUICRPC_DRIVER=loop|thread] node bench/echo.mjs [sequential|calls|frames|bulk]
import { Endpoint } from "../dist/index.js";
import { ALPN, cpuSeconds, identity, median, pinned, servedTls, serving, startServer } from "./pair.mjs";
import { answer, direct, w3c } from "./workloads.mjs";

const [only = ""] = process.argv.slice(2);
const ROUNDS = Number(process.env.ROUNDS ?? 3);

function serve() {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: servedTls(), webTransport: {} }, answer);
  serving(endpoint.address.port);
}

async function main() {
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const port = server.ports;
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const quic = await endpoint.connect({ host: "127.0.0.1", port, alpn: ALPN, tls: pinned(tls) });
  const web = await endpoint.connectWebTransport(`https://127.0.0.1:${port}/`, { tls: pinned(tls) });
  const faces = { QUIC: [quic, direct], WebTransport: [web, direct], "QUIC, W3C": [quic, w3c] };
  console.log(`driver ${endpoint.driver}, node ${process.version}`);
  for (const { what, name, count } of direct) {
    if (only !== "" && only !== what) continue;
    const costs = new Map();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [face, [session, workloads]] of Object.entries(faces)) {
        const workload = workloads.find((one) => one.name === name);
        if (workload === undefined) continue;
        if (round === 0) await workload.run(session, Math.ceil(count / 20));
        const each = await measure(`${face.padEnd(13)} ${name.padEnd(32)}`, count, server, () =>
          workload.run(session, count),
        );
        costs.set(face, [...(costs.get(face) ?? []), each]);
      }
    }
    const raw = median(costs.get("QUIC"));
    for (const [face, each] of costs) {
      if (face !== "QUIC")
        console.log(`${name}: ${face} costs ${(median(each) / raw).toFixed(2)} of the CPU of raw QUIC`);
    }
  }
  server.stop();
  await endpoint.close();
}

/** Returns the CPU seconds of both processes for each of `count`. */
async function measure(label, count, server, run) {
  const cpu = () => cpuSeconds(process.pid) + cpuSeconds(server.pid);
  const [cpu0, t0] = [cpu(), performance.now()];
  await run();
  const seconds = (performance.now() - t0) / 1000;
  const each = (cpu() - cpu0) / count;
  const rate = count / seconds;
  console.log(
    `${label} ${rate.toLocaleString("en", { maximumFractionDigits: rate > 100 ? 0 : 2 }).padStart(12)}/s   ${(each * 1e6).toFixed(2)} µs CPU each`,
  );
  return each;
}

await (process.argv[2] === "serve" ? serve() : main());
