import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const SHOP = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";
/** An article. */
const Article = z.object({ id: z.int(), name: z.string().describe("As customers see it."), kind: z.enum(["new", "used"]) });
/** A shop. */
export const Shop = service("shop.v1.Shop", {
  /** Gets one. */
  get: rpc({
    input: z.object({ id: z.int() }),
    output: Article.nullable(),
    errors: { GONE: z.object({ since: z.date() }), CLOSED: { code: "unavailable" } },
    idempotent: true,
  }),
  watch: rpc({ output: stream(Article) }),
  log: notify({ input: z.string() }),
  photos: rpc({ input: bytes(), output: bytes() }),
});
`;

test("a Markdown reference", async () => {
  const schema = workspace.write("shop.service.ts", SHOP);
  const info = { title: "shop", version: "1.2.3" };
  const { files, diagnostics } = await generate({ files: [schema], cwd: workspace.path, docs: "api.md", info });
  expect(diagnostics).toEqual([]);
  await expect(files.find(({ path }) => path.endsWith("api.md"))?.text).toMatchFileSnapshot("golden/shop.md");
});

const LOSSY = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Shop = service("shop.v1.Shop", {
  get: rpc({ input: z.object({ id: z.int() }) }),
  find: rpc({
    input: z.object({ by: z.union([z.string(), z.date()]) }),
  }),
});
`;

test("what plain JSON does not say all of is told at its line, to those who ask for OpenAPI", async () => {
  const schema = workspace.write("lossy.service.ts", LOSSY);
  const { files, diagnostics, warnings } = await generate({
    files: [schema],
    cwd: workspace.path,
    openapi: "openapi.json",
  });
  expect(diagnostics).toEqual([]);
  expect(warnings).toEqual([
    {
      code: "no-json",
      message:
        "Plain JSON does not say all of a union of text and date: over HTTP this method is called in MessagePack only.",
      help: expect.any(String) as unknown,
      file: schema,
      line: 6,
      column: 27,
      frame: expect.stringContaining("z.union") as unknown,
      service: "shop.v1.Shop",
      method: "find",
      path: "input.by",
    },
  ]);
  const document = files.find(({ path }) => path.endsWith("openapi.json"))?.text ?? "";
  expect(Object.keys((JSON.parse(document) as { paths: object }).paths)).toEqual(["/shop.v1.Shop/get"]);
  expect((await generate({ files: [schema] })).warnings).toEqual([]);
});
