import { Parser } from "@asyncapi/parser";
import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace, fixture } from "./workspace.js";

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

async function textOf(schema: string, option: "docs" | "asyncapi", name: string): Promise<string> {
  const { files, diagnostics } = await generate({
    files: [schema],
    cwd: workspace.path,
    [option]: name,
    info: { title: "shop", version: "1.2.3" },
  });
  expect(diagnostics).toEqual([]);
  return files.find(({ path }) => path.endsWith(name))?.text ?? expect.unreachable();
}

test("a Markdown reference", async () => {
  const schema = workspace.write("shop.service.ts", SHOP);
  await expect(await textOf(schema, "docs", "api.md")).toMatchFileSnapshot("golden/shop.md");
});

test.each(["shop", "rich"])("an AsyncAPI document that the official parser accepts: %s", async (name) => {
  const schema = name === "rich" ? fixture("rich.service.ts") : workspace.write("shop.service.ts", SHOP);
  const text = await textOf(schema, "asyncapi", "asyncapi.json");
  const { document, diagnostics } = await new Parser().parse(text);
  // There is no document where there is an error.
  if (document === undefined) expect.unreachable(JSON.stringify(diagnostics));
  expect(document?.version()).toBe("3.0.0");
  if (name === "shop") {
    expect(document?.info().title()).toBe("shop");
    expect(
      document
        ?.channels()
        .all()
        .map((channel) => channel.address()),
    ).toEqual(["shop.v1.Shop/get", "shop.v1.Shop/watch", "shop.v1.Shop/log", "shop.v1.Shop/photos"]);
    const get = document?.operations().get("shop.v1.Shop.get");
    expect(get?.isReceive()).toBe(true);
    expect(get?.messages().all()[0]?.payload()?.properties()?.["id"]?.type()).toBe("integer");
  }
});
