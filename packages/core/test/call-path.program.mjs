// Prints, as JSON, the modules of core whose code runs for the calls of the README, on each side. docs/one-call.md names them.
// Single files, which coverage can tell apart: Node resolves the names of packages to bundles.
import { createConnection, createSession } from "../dist/index.js";
import { Session } from "node:inspector/promises";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** The generated client and router of the README. */
async function generated() {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("../../../examples/guides/src/greeter/generated/greeter.ts", import.meta.url)),
    external: /^@quicrpc/,
    resolve: { extensionAlias: { ".js": [".ts"] } },
  });
  const { output } = await bundle.generate({
    format: "esm",
    codeSplitting: false,
    paths: {
      "@quicrpc/core/codec": new URL("../dist/codecs.js", import.meta.url).href,
      "@quicrpc/core/generated": new URL("../dist/generated.js", import.meta.url).href,
    },
  });
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

/** What one side has sent and the other has not received yet. */
const underWay = { client: [], server: [] };

/** A stream whose bytes wait in `underWay`. */
class HeldStream {
  constructor(to) {
    this.to = to;
    this.handler = undefined;
  }
  attach(handler) {
    this.handler = handler;
  }
  write(bytes, end = false) {
    const { peer, to } = this;
    const copy = bytes.slice();
    underWay[to].push(() => {
      if (copy.length > 0) peer.handler.onData(copy);
      if (end) peer.handler.onEnd();
    });
    return true;
  }
  pendingBytes() {
    return 0;
  }
  stopSending() {}
  reset() {}
  pause() {}
  resume() {}
}

/** One end of an in-memory session. */
class HeldSession {
  constructor(to) {
    this.to = to;
  }
  attach(handler) {
    this.handler = handler;
  }
  openStream() {
    const { peer, to } = this;
    const ours = new HeldStream(to);
    const theirs = new HeldStream(peer.to);
    ours.peer = theirs;
    theirs.peer = ours;
    underWay[to].push(() => peer.handler.onStream(theirs));
    return ours;
  }
  close() {}
}

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The modules whose functions were called since it was last asked. */
async function modulesRun() {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0].count > 0))
    .flatMap(({ url }) => url.match(/core\/dist\/(.+)\.js$/)?.[1] ?? []);
}

const ours = new HeldSession("server");
const theirs = new HeldSession("client");
ours.peer = theirs;
theirs.peer = ours;
const { createGreeterClient, createGreeterRouter } = await generated();
const router = createGreeterRouter({
  greet: ({ name }) => ({ text: `Hello, ${name}!` }),
  async *countdown({ from }) {
    for (let left = from; left >= 0; left--) yield { left };
  },
});
createSession(theirs, { routers: [router] });
const greeter = createGreeterClient(createConnection(async () => createSession(ours)));

/** Makes a call, and returns the modules that run for it on each side. */
async function path(call) {
  const modules = { client: new Set(), server: new Set() };
  const made = { over: false };
  await modulesRun();
  const answered = call().finally(() => (made.over = true));
  for (let side = "client"; !made.over; side = side === "client" ? "server" : "client") {
    for (const arrive of underWay[side].splice(0)) arrive();
    // Frames leave at the end of the turn.
    await setImmediate();
    for (const module of await modulesRun()) modules[side].add(module);
  }
  await answered;
  return { client: [...modules.client].sort(), server: [...modules.server].sort() };
}

const unary = () => path(() => greeter.greet({ name: "Ada" }));
const serverStream = () => path(() => all(greeter.countdown({ from: 3 })));

async function all(items) {
  for await (const _ of items);
}

// The first calls open the session and its lane, and tell the fingerprints of their schemas.
await unary();
await serverStream();
console.log(JSON.stringify({ unary: await unary(), serverStream: await serverStream() }));
process.exit();
