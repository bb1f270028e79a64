// The QUIC engine against other implementations: `npm run interop -- [--write] [--json] [peer…]`. See docs/interop.md.
import { run, setup, step, tool } from "./setup.mjs";

await setup();
await step("build: interop", [...tool.tsc, "-p", "interop"], { advice: "Fix the type errors below." });
const { code } = await run(["interop/dist/interop/src/main.js", ...process.argv.slice(2)]);
process.exit(code);
