import { buildExample, run, setup } from "./setup.mjs";

await setup();
await buildExample();
const { code } = await run(["examples/arith/dist/demo.js"]);
process.exit(code);
