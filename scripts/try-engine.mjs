// Runs the engine's tests with a prebuilt engine, on the platform that it is for, without cargo: `node scripts/try-engine.mjs linux-x64-musl`.
import { platformName } from "../packages/quic/scripts/platforms.mjs";
import { fail, npm, run, step, tool } from "./setup.mjs";

const wanted = process.argv[2];
if (platformName() !== wanted) fail(`This is ${platformName()}, not ${wanted}.`);
const { args, ...how } = npm(["ci", "--include=dev", "--no-fund", "--no-audit"]);
await step("packages: npm ci", args, { ...how, advice: "See below." });
await step("build: tsc -b", [...tool.tsc, "-b"], { advice: "Fix the type errors below." });
const smoke = await run(["packages/quic/scripts/smoke.mjs"]);
if (smoke.code !== 0) process.exit(smoke.code);
const { code } = await run([...tool.vitest, "run", "packages/quic/test"]);
process.exit(code);
