import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

test("a template literal whose matching takes more than linear time is reported at its line, with a text", async () => {
  const schema = workspace.write(
    "costly.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
const cheap = z.templateLiteral(["id-", z.string()]);
const costly = z.templateLiteral([z.string(), "-", z.string(), ":", z.string()]);
export const Shop = service("shop.v1.Shop", {
  get: rpc({ input: z.object({ cheap, all: z.array(costly) }) }),
  find: rpc({ input: costly }),
});
`,
  );
  const { diagnostics, warnings, files } = await generate({ files: [schema] });
  expect(diagnostics).toEqual([]);
  expect(warnings).toEqual([
    {
      code: "costly-template",
      message: expect.stringContaining(
        'more than 16384 characters do not fit this template literal: to match a text such as "-".repeat(n)',
      ),
      help: expect.any(String) as unknown,
      file: schema,
      line: 4,
      column: expect.any(Number) as unknown,
      frame: expect.stringContaining("z.templateLiteral") as unknown,
    },
  ]);
  const codecs = files.find(({ path }) => path.endsWith(".codecs.ts"))?.text;
  expect(codecs).toContain(".length > 16384 ||");
  expect(codecs).toContain("wire.template(templatePattern, 16384)");
});
