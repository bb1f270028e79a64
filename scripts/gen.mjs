// Generates the code of every project here that has schemas, or checks that it is what `quicrpc gen` writes now:
// `npm run gen`, `npm run gen:check`.
import { fail, run } from "./setup.mjs";

const CLI = "packages/cli/dist/main.js";
const CONFIGS = [
  "examples/arith/quicrpc.config.ts",
  "examples/cbor/quicrpc.config.ts",
  "examples/guides/quicrpc.config.ts",
  "examples/tutorial/quicrpc.config.ts",
  "examples/whiteboard/quicrpc.config.ts",
  "examples/frameworks/quicrpc.config.ts",
  "packages/services/quicrpc.config.ts",
  "packages/batch/quicrpc.config.ts",
  "packages/http/test/quicrpc.config.ts",
  "packages/grpc/test/quicrpc.config.ts",
  "packages/mcp/test/quicrpc.config.ts",
  "packages/studio/test/quicrpc.config.ts",
  "bench/quicrpc.config.ts",
  "interop/quicrpc.config.ts",
  "test/size/quicrpc.config.ts",
  "test/size/bare.config.ts",
  "test/size/http.config.ts",
  "test/size/unary.config.ts",
  "test/types/quicrpc.config.ts",
  "test/openapi/quicrpc.config.ts",
  "test/proto/quicrpc.config.ts",
  "test/from-grpc/quicrpc.config.ts",
  "test/connect-conformance/quicrpc.config.ts",
];

const args = process.argv.slice(2);
const stale = [];
for (const config of CONFIGS) {
  const { code, output } = await run([CLI, "gen", "--config", config, ...args], { capture: true });
  if (code !== 0) stale.push(`${config}\n${output}`);
}
if (stale.length > 0)
  fail(`${stale.length} of ${CONFIGS.length} projects: "npm run gen" writes them anew.`, stale.join("\n"));
console.log(`${CONFIGS.length} projects`);
