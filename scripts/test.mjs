import { buildExample, run, setup, tool } from "./setup.mjs";

await setup();
await buildExample();
const { code } = await run([...tool.vitest, "run", ...process.argv.slice(2)]);
process.exit(code);
