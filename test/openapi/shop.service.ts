import { notify, rpc, service, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { z } from "zod";

/** An article, as customers see it. */
const Article = z.object({
  id: z.int64(),
  name: z
    .string()
    .min(1)
    .max(80)
    .meta({ description: "Its name in the shop.", examples: ["Teapot"] }),
  kind: z.enum(["new", "used"]),
  price: z.number().nonnegative().multipleOf(0.01),
  listedAt: z.date(),
  picture: z.instanceof(Uint8Array).optional(),
  tags: z.set(z.string()).min(1).max(20),
  stock: z.map(z.string(), z.int().min(0)).min(1).max(100),
  notes: z.record(z.string(), z.string().nullable()),
  size: z.tuple([z.number(), z.number()]),
  color: z.string().default("white"),
  old: z.string().optional().meta({ deprecated: true }),
});

type Category = { name: string; parts: Category[] };
const Category: z.ZodType<Category> = z.object({ name: z.string(), parts: z.lazy(() => z.array(Category)) });

const Payment = z.discriminatedUnion("by", [
  z.object({ by: z.literal("card"), number: z.string().regex(/^[0-9]{16}$/) }),
  z.object({ by: z.literal("invoice"), due: z.date() }),
]);

/** A shop. */
export const Shop = service("shop.v1.Shop", {
  /** Gets an article. */
  get: rpc({
    input: z.object({ id: z.bigint() }),
    output: Article,
    errors: { GONE: z.object({ since: z.date() }), CLOSED: { code: "unavailable" } },
    readOnly: true,
  }),
  /** Adds an article, and returns what it became. */
  add: rpc({ input: Article, output: Article }),
  /**
   * Buys an article.
   * @deprecated Use orders.
   */
  buy: rpc({
    input: z.object({
      id: z.bigint(),
      payment: Payment,
      at: z.iso.datetime().optional(),
      edition: z.literal([1n, 2n]).optional(),
    }),
    output: z.object({ total: z.number(), url: z.url() }),
  }),
  categories: rpc({ output: Category, readOnly: true }),
  watch: rpc({ input: z.object({ kind: z.enum(["new", "used"]) }), output: stream(Article), readOnly: true }),
  upload: rpc({ input: stream(Article), output: z.object({ count: z.int() }) }),
  log: notify({ input: z.object({ text: z.string() }) }),
  ping: rpc({}),
  /** Keeps an article's manual, and gives it back. */
  manual: rpc({
    input: z.object({ id: z.bigint(), file: blob({ maxBytes: 5_000_000 }) }),
    output: z.object({ bytes: z.int(), file: blob() }),
  }),
});
