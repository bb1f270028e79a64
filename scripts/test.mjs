import { buildExample, run, setup, tool } from "./setup.mjs";

// An engine that does not compile is a failure; without cargo there is just none.
const { code: noCargo } = await run(["--version"], { command: "cargo", capture: true });
const engine = await setup({ engineOptional: noCargo !== 0 });
await buildExample();
if (!engine) console.log("skipped: every test over QUIC, since there is no native engine (see above)");
const env = engine ? {} : { QUICRPC_NO_ENGINE: "1" };
const { code } = await run([...tool.vitest, "run", ...process.argv.slice(2)], { env });
process.exit(code);
