// npm test: sets everything up and runs all tests. Without the QUIC engine, a browser or another tool, tests that need it are skipped;
// the last lines say which, and what they need.
//   npm test -- frame          the files with "frame" in their paths; vitest has more arguments
//   npm test -- --quick        in less than two minutes: tests of what differs from main and of the packages that depend on it, without
//                              browsers, attacks and what takes long, and behaviours over three kinds of sessions
//   npm run conformance        writes docs/conformance.md from the tests that ran
import { affectedPackages, changedFiles } from "./changed.mjs";
import { buildExamples, run, setup, tool } from "./setup.mjs";

const own = ["--conformance", "--quick"];
const given = process.argv.slice(2).filter((argument) => !own.includes(argument));
const quick = process.argv.includes("--quick");

const engine = await setup({ engineOptional: true });
await buildExamples();

const env = {};
if (!engine) env.QUICRPC_NO_ENGINE = "1";
if (quick) {
  env.QUICRPC_QUICK = "1";
  given.unshift(...(await quickFiles()));
}
// Only a run of everything says what is shown: by default it is compared with the page. Reports leave nothing out.
const everything = given.every((argument) => /^--(reporter|outputFile)\b.*=/.test(argument));
const reporters = given.some((argument) => argument.startsWith("--reporter")) ? [] : ["--reporter=default"];
if (everything || quick) reporters.push("--reporter=./test/skipped-reporter.ts");
if (engine && everything) {
  reporters.push("--reporter=./test/behaviour/conformance-reporter.ts");
  env.QUICRPC_CONFORMANCE = process.argv.includes("--conformance") ? "write" : "check";
}
const { code } = await run([...tool.vitest, "run", ...reporters, ...given], { env });
process.exit(code);

/** The folders and files whose tests may see a change. */
async function quickFiles() {
  const files = await changedFiles();
  if (files === undefined) {
    console.log("Without git nothing says what has changed: tests of all packages.");
    return ["packages/", "examples/", "test/"];
  }
  const packages = affectedPackages(files).map((name) => `packages/${name}/`);
  const examples = files.flatMap((file) => /^examples\/[^/]+\//.exec(file) ?? []);
  const tests = packages.length > 0 ? ["test/"] : files.filter((file) => /^test\/.*\.test\.ts$/.test(file));
  const chosen = [...new Set([...packages, ...examples, ...tests])];
  if (chosen.length === 0) {
    console.log("Nothing that tests are of differs from main: npm test runs all of them.");
    process.exit(0);
  }
  console.log(`tests of ${chosen.join(" ")}`);
  return chosen;
}
