// Calls over loopback against other RPC libraries: `npm run bench -- [--rounds N] [--json]`; with `micro`, the pieces of a call.
import { run, setup, step, tool } from "./setup.mjs";

await setup();
await step("build: bench", [...tool.tsc, "-p", "bench"], { advice: "Fix the type errors below." });
const [first, ...rest] = process.argv.slice(2);
const scripts = first === "micro" ? ["micro.js", "codecs.js"] : ["main.js"];
for (const script of scripts) {
  const { code } = await run([`bench/dist/${script}`, ...(first === "micro" ? rest : process.argv.slice(2))]);
  if (code !== 0) process.exit(code);
}
