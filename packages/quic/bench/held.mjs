// How long bulk transfer holds the event loop at a stretch, at the sender and at the receiver, by the clock. Other processes
// count too: on a machine that is not idle give this one precedence (nice -n -20, or chrt -f 1), and take the best round.
// Usage: [ROUNDS=5] node bench/held.mjs
import { Endpoint } from "../dist/index.js";
import { ALPN, identity, pinned, servedTls, serving, startServer } from "./pair.mjs";
import { answer, bulk } from "./workloads.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 5);

/** The longest turn of the event loop until `stop`. An immediate ends each turn. */
function watch() {
  let [longest, last, going] = [0, performance.now(), true];
  const turn = () => {
    const at = performance.now();
    longest = Math.max(longest, at - last);
    last = at;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    going = false;
    return longest;
  };
}

function serve() {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: servedTls() }, answer);
  let stop;
  serving(endpoint.address.port, (question, reply) => {
    if (question === "stop") reply(stop());
    else {
      stop = watch();
      reply("watching");
    }
  });
}

async function main() {
  const tls = await identity();
  const server = await startServer(import.meta.filename, tls);
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const session = await endpoint.connect({ host: "127.0.0.1", port: server.ports, alpn: ALPN, tls: pinned(tls) });
  await bulk(session);
  console.log(`longest turn of the event loop in a GB; driver ${endpoint.driver}, node ${process.version}`);
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
