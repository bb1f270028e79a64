// How long bulk transfer holds the event loop at a stretch, at the sender and at the receiver.
// Usage: [ROUNDS=5] node bench/held.mjs
import { Endpoint } from "../dist/index.js";
import { ALPN, identity, pinned, servedTls, serving, startServer } from "./pair.mjs";
import { answer, bulk } from "./workloads.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 5);

/** Milliseconds of this thread's CPU time where the runtime tells them (Node 23.9), else of the clock. */
const now =
  process.threadCpuUsage === undefined
    ? () => performance.now()
    : () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      };

/** The longest turn of the event loop until `stop`. An immediate ends each turn. */
function watch() {
  let [longest, last, going] = [0, now(), true];
  const turn = () => {
    const at = now();
    longest = Math.max(longest, at - last);
    (globalThis.all ??= []).push([at - last, performance.now() | 0]);
    last = at;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    going = false;
    {
      const a = globalThis.all.sort((x, y) => y[0] - x[0]);
      console.error(
        a.length,
        a
          .slice(0, 8)
          .map((x) => x[0].toFixed(2) + "@" + x[1])
          .join(" "),
        "median",
        a[a.length >> 1][0].toFixed(2),
      );
      globalThis.all = [];
    }
    return longest;
  };
}

function serve() {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: servedTls() }, answer);
  let stop;
  serving(endpoint.address.port, (question) => {
    if (question === "stop") return stop();
    stop = watch();
    return "watching";
  });
}

async function main() {
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const session = await endpoint.connect({ host: "127.0.0.1", port: server.ports, alpn: ALPN, tls: pinned(tls) });
  await bulk(session);
  const clock = process.threadCpuUsage === undefined ? "the clock" : "CPU time of the thread";
  console.log(
    `longest turn of the event loop in a GB, by ${clock}; driver ${endpoint.driver}, node ${process.version}`,
  );
  for (let round = 0; round < ROUNDS; round++) {
    await server.ask("watch");
    const stop = watch();
    await bulk(session);
    const [sender, receiver] = [stop(), await server.ask("stop")];
    console.log(`sender ${sender.toFixed(2)} ms, receiver ${receiver.toFixed(2)} ms`);
  }
  server.stop();
  await endpoint.close();
}

await (process.argv[2] === "serve" ? serve() : main());
