import { buildExamples, run, setup, tool } from "./setup.mjs";

// An engine that does not compile is a failure; without cargo there is just none.
const { code: noCargo } = await run(["--version"], { command: "cargo", capture: true });
const engine = await setup({ engineOptional: noCargo !== 0 });
await buildExamples();
if (!engine) console.log("skipped: every test over QUIC, since there is no native engine (see above)");
const given = process.argv.slice(2).filter((argument) => argument !== "--conformance");
// Only a run of everything says what is shown: by default it is compared with the page. Reports leave nothing out.
const everything = given.every((argument) => /^--(reporter|outputFile)\b.*=/.test(argument));
const reporters = given.some((argument) => argument.startsWith("--reporter")) ? [] : ["--reporter=default"];
if (everything) reporters.push("--reporter=./test/skipped-reporter.ts");
if (engine && everything) reporters.push("--reporter=./test/behaviour/conformance-reporter.ts");
const conformance = process.argv.includes("--conformance") ? "write" : "check";
const env = engine ? { QUICRPC_CONFORMANCE: conformance } : { QUICRPC_NO_ENGINE: "1" };
const { code } = await run([...tool.vitest, "run", ...reporters, ...given], { env });
process.exit(code);
