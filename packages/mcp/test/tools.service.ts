import { notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Article = z.object({
  id: z.string(),
  price: z.bigint(),
  addedAt: z.date(),
  stock: z.map(z.string(), z.int()),
  tags: z.set(z.string()).optional(),
});

/** A shop that language models use. */
export const Shop = service("test.v1.Shop", {
  // #region find
  /** Finds an article by its id. */
  find: rpc({
    input: z.object({ id: z.string().max(20) }),
    output: Article,
    errors: { GONE: { code: "not_found", details: z.object({ since: z.date() }) } },
    readOnly: true,
    meta: { mcp: { title: "Find an article" } }, // or mcp: true
  }),
  // #endregion find
  /** Adds an article. */
  add: rpc({ input: Article, output: Article, meta: { mcp: true } }),
  /** Counts the letters of a text. */
  count: rpc({ input: z.string(), output: z.int(), meta: { mcp: { name: "count_letters" } } }),
  /** Gives as many lines as are asked for; one, and no end, for a negative number. */
  lines: rpc({
    input: z.object({ n: z.int() }),
    output: stream(z.object({ line: z.int() })),
    meta: { mcp: { maxItems: 5 } },
  }),
  /** Waits until nobody wants it any more. */
  wait: rpc({ meta: { mcp: true } }),
  /** Says who calls. */
  whoAmI: rpc({ output: z.object({ user: z.string() }), meta: { mcp: true } }),
  note: notify({ input: z.object({ text: z.string() }), meta: { mcp: true } }),
  /** For people only. */
  empty: rpc({}),
});
