import { buildExamples, run, setup } from "./setup.mjs";

const [script = "arith/dist/demo.js"] = process.argv.slice(2);
await setup();
await buildExamples();
const { code } = await run([`examples/${script}`]);
process.exit(code);
