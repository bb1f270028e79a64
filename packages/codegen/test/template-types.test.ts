import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

test.each([
  ['["v", z.int().optional()]', '`v${number | ""}`'],
  ['["v", z.int().nullish()]', '`v${number | null | ""}`'],
  ['["v", z.enum(["a", "b"]).optional(), "-"]', '`v${"a" | "b" | ""}-`'],
  ['["v", z.union([z.int(), z.undefined()])]', "`v${number | undefined}`"],
])("a part of a template that may be left out is an empty text: %s", async (parts, type) => {
  const path = workspace.write(
    "template.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n` +
      `export const S = service("test.v1.S", { m: rpc({ input: z.templateLiteral(${parts}) }) });`,
  );
  const { files, diagnostics } = await generate({ files: [path] });
  expect(diagnostics).toEqual([]);
  expect(files[0]?.text).toContain(`m(input: ${type}, `);
});
