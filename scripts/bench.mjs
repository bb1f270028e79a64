// Calls over loopback against other RPC libraries: `npm run bench -- [--rounds N] [--json]`; with `micro`, the pieces of a call.
import { run, setup, step, tool } from "./setup.mjs";

await setup();
await step("build: bench", [...tool.tsc, "-p", "bench"], { advice: "Fix the type errors below." });
const [first, ...rest] = process.argv.slice(2);
const { code } = await run(
  first === "micro" ? ["bench/dist/micro.js", ...rest] : ["bench/dist/main.js", ...process.argv.slice(2)],
);
process.exit(code);
