// Calls over loopback against other RPC libraries: `npm run bench -- [--rounds N] [--json]`; with `micro`, the
// pieces of a call; with `types`, what 500 methods cost to generate and to compile; with
// `link`, over a simulated bad network; with `profile`, where the CPU time of a call goes; with `fan-out`, messages of topics; with `http`, unary calls in JSON
// over HTTP; with `blobs`, files, and small calls beside them, over QUIC and plain HTTP; with `resumable`, streams that outlive their session;
// with `start`, from a new process to its first call.
import { run, setup, step, tool } from "./setup.mjs";

await setup();
await step("build: bench", [...tool.tsc, "-p", "bench"], { advice: "Fix the type errors below." });
const [first, ...rest] = process.argv.slice(2);
const pieces = {
  micro: ["micro.js", "codecs.js"],
  types: ["types.js"],
  link: ["bad-network.js"],
  profile: ["profile.js"],
  "fan-out": ["fan-out.js"],
  http: ["http-unary.js"],
  blobs: ["blobs.js", "blobs-http.js"],
  resumable: ["resumable.js"],
  start: ["cold-start.js"],
};
const named = Object.hasOwn(pieces, first ?? "");
for (const script of named ? pieces[first] : ["main.js"]) {
  const { code } = await run([`bench/dist/${script}`, ...(named ? rest : process.argv.slice(2))]);
  if (code !== 0) process.exit(code);
}
