import { buildExample, run, setup, tool } from "./setup.mjs";

// An engine that does not compile is a failure; without cargo there is just none.
const { code: noCargo } = await run(["--version"], { command: "cargo", capture: true });
const engine = await setup({ engineOptional: noCargo !== 0 });
await buildExample();
if (!engine) console.log("skipped: every test over QUIC, since there is no native engine (see above)");
const given = process.argv.slice(2);
// Only a run of everything says what is shown: by default it is compared with the page.
const conformance = given.includes("--conformance") ? "write" : "check";
const filters = given.filter((argument) => argument !== "--conformance");
const reporters =
  engine && filters.length === 0 ? ["--reporter=default", "--reporter=./test/behaviour/conformance-reporter.ts"] : [];
const env = engine ? { QUICRPC_CONFORMANCE: conformance } : { QUICRPC_NO_ENGINE: "1" };
const { code } = await run([...tool.vitest, "run", ...reporters, ...filters], { env });
process.exit(code);
