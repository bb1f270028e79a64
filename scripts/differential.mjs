// Random schemas, values and changes: compiled codecs against zod, the verdicts of `quicrpc breaking` against the codecs of both
// versions, and OpenAPI documents against an HTTP server: `npm run differential -- [--schemas n] [--seed n]`. The tests that it runs are those of CI, which are few and always the same.
import { parseArgs } from "node:util";
import { run, setup, tool } from "./setup.mjs";

const { values } = parseArgs({
  options: {
    schemas: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});

await setup({ engineOptional: true });
console.log(`${values.schemas} schemas, seed ${values.seed}`);
const env = { QUICRPC_DIFFERENTIAL_SCHEMAS: values.schemas, QUICRPC_DIFFERENTIAL_SEED: values.seed };
const tests = ["differential", "codec/agreement.test.ts", "codec/json.test.ts"].map(
  (each) => `packages/codegen/test/${each}`,
);
const { code } = await run([...tool.vitest, "run", ...tests], { env });
process.exit(code);
