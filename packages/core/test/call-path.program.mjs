// Prints, as JSON, the modules of core whose code runs for a unary call: on the way out, and on the way back. docs/one-call.md names them.
// Of single files, which coverage can tell apart: Node gets bundles from the names of packages.
import { createClientSession } from "../dist/index.js";
import { createMemoryPair } from "../dist/transports.js";
import { defineMethod, uncheckedCodec } from "../dist/generated.js";
import { Session } from "node:inspector/promises";
import { setTimeout } from "node:timers/promises";

/** Modules of the codec, and of the transport that stands in for a network. */
const NOT_OF_THE_PATH = /^(msgpack\/|call\/messages\/codec|transport\/memory|fifo)/;

const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
const HELLO = "4003000001";
const ANSWER = "4008030081a370726f12";

const [ours, theirs] = createMemoryPair();
let lane;
theirs.attach({
  onStream(stream) {
    lane = stream;
    const nothing = () => {};
    stream.attach({
      onData: nothing,
      onEnd: nothing,
      onReset: nothing,
      onStopSending: nothing,
      onDrain: nothing,
      onClosed: nothing,
    });
  },
  onClosed() {},
});
const codec = uncheckedCodec();
const multiply = defineMethod({ name: "demo.v1.Arith", id: 0xdd3e }, "unary", "multiply", {
  id: 1,
  input: codec,
  output: codec,
});
const session = createClientSession(ours);

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The modules whose functions were called since it was last asked. */
async function modulesRun() {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0].count > 0))
    .flatMap(({ url }) => url.match(/core\/dist\/(.+)\.js$/)?.[1] ?? [])
    .filter((module) => !NOT_OF_THE_PATH.test(module))
    .sort();
}

async function call(answer) {
  const result = session.start(multiply, { a: 9, b: 2 });
  // The frame leaves at the end of the turn.
  await setTimeout(0);
  const out = await modulesRun();
  lane.write(bytes(answer));
  await result;
  return { out, back: await modulesRun() };
}

// The first opens the lane.
await call(HELLO + ANSWER);
console.log(JSON.stringify(await call(ANSWER)));
await session.close();
