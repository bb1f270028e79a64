// Small echoes every 2 ms beside bulk on the same session, with several windows of a stream in turn. How much leaves while an echo
// is under way is what the echo has to wait behind; unlike times it depends little on what else the machine does.
// Usage: [ROUNDS=3] [WINDOWS=4194304,0] node bench/beside.mjs; the window 0 is the engine's own choice
import { Endpoint } from "../dist/index.js";
import { ALPN, cpuSeconds, identity, median, on, pinned, servedTls, serving, startServer } from "./pair.mjs";
import { answer, bulk, GIGABYTES } from "./workloads.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const WINDOWS = (process.env.WINDOWS ?? "4194304,0").split(",").map(Number);
const ECHO = new Uint8Array(32);

function serve() {
  const tls = servedTls();
  serving(
    WINDOWS.map((streamReceiveWindow) => {
      const endpoint = Endpoint.bind({ host: "127.0.0.1" });
      endpoint.listen({ alpn: ALPN, tls, transport: { streamReceiveWindow } }, answer);
      return endpoint.address.port;
    }),
  );
}

/** One echo on a stream of its own: its milliseconds, and the KiB that the session sent meanwhile. */
function echo(session) {
  return new Promise((resolve) => {
    const [began, before] = [performance.now(), session.stats().sentBytes];
    const stream = session.openStream();
    const onEnd = () => resolve([performance.now() - began, (session.stats().sentBytes - before) / 1024]);
    stream.attach(on({ onEnd }));
    stream.write(ECHO, true);
  });
}

async function echoesUntil(over) {
  const echoes = [];
  while (!over.done) {
    echoes.push(echo(over.session));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return Promise.all(echoes);
}

async function main() {
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const total = () => cpuSeconds(process.pid) + cpuSeconds(server.pid);
  const rows = new Map(WINDOWS.map((window) => [window, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, window] of WINDOWS.entries()) {
      const port = server.ports[index];
      const session = await endpoint.connect({ host: "127.0.0.1", port, alpn: ALPN, tls: pinned(tls) });
      const [cpu, began] = [total(), performance.now()];
      const over = { session, done: false };
      const moved = bulk(session).finally(() => (over.done = true));
      const [echoes] = await Promise.all([echoesUntil(over), moved]);
      const seconds = (performance.now() - began) / 1000;
      const at = (share, of) =>
        echoes.map((one) => one[of]).toSorted((a, b) => a - b)[Math.floor(echoes.length * share)];
      const one = [at(0.5, 1), at(0.99, 1), at(0.5, 0), at(0.99, 0), GIGABYTES / seconds, (total() - cpu) / GIGABYTES];
      if (round >= 0) rows.get(window).push(one);
      session.close();
    }
  }
  for (const [window, all] of rows) {
    const [kib, kib99, ms, ms99, rate, cpu] = all[0].map((_, column) => median(all.map((row) => row[column])));
    const name = window === 0 ? "the engine's own window" : `a window of ${window / 1024} KiB`;
    const behind = `${kib.toFixed(0)} KiB sent while an echo was under way (p99 ${kib99.toFixed(0)})`;
    const times = `${ms.toFixed(2)} ms (p99 ${ms99.toFixed(2)})`;
    console.log(`${name}: ${behind}, ${times}; ${rate.toFixed(2)} GB/s, ${cpu.toFixed(2)} s of CPU a GB`);
  }
  server.stop();
  await endpoint.close();
}

await (process.argv[2] === "serve" ? serve() : main());
