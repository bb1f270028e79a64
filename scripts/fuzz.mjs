// Runs every parser of received data on inputs near those of the corpora, for a minute each: `npm run fuzz [--
// <seed>]`. A failing input is stored in test/fuzz/corpus, or printed in the format of packages/quic/native/corpus.
import { fileURLToPath } from "node:url";
import { writeEngineSources } from "../packages/quic/scripts/engine-sources.mjs";
import { run, setup, tool } from "./setup.mjs";

await setup();
const SECONDS = 60;
const seed = process.argv[2] ?? String(Date.now() % 2 ** 31);
console.log(`seed ${seed}`);
const env = { QUICRPC_FUZZ_SECONDS: String(SECONDS), QUICRPC_FUZZ_SEED: seed };
const values = await run([...tool.vitest, "run", "test/fuzz"], { env });
const cwd = fileURLToPath(new URL("../packages/quic/native", import.meta.url));
writeEngineSources();
const engine = await run(["test", "--quiet", "near_the_corpus"], { command: "cargo", cwd, env });
process.exit(values.code || engine.code);
