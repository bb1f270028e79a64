import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const Payment = z.discriminatedUnion("by", [
  z.object({ by: z.literal("card"), number: z.string().min(4).max(19) }),
  z.object({ by: z.literal("invoice"), due: z.date() }),
]);

interface Node {
  readonly name: string;
  readonly next?: Node | undefined;
}
const Node: z.ZodType<Node, Node> = z.lazy(() => z.object({ name: z.string(), next: Node.optional() }));

const Everything = z.object({
  name: z.string().min(1).max(20).describe("As on the label."),
  count: z.int().min(1).max(9),
  ratio: z.number(),
  yes: z.boolean(),
  state: z.enum(["new", "paid"]),
  at: z.date(),
  big: z.bigint(),
  data: z.instanceof(Uint8Array),
  nick: z.string().nullable(),
  note: z.string().optional(),
  payment: Payment,
  lines: z.array(z.object({ item: z.string(), pieces: z.int().min(1) })).max(3),
  pair: z.tuple([z.string(), z.number()]),
  prices: z.map(z.string(), z.bigint()),
  tags: z.record(z.string().min(2), z.string()),
  marks: z.set(z.string()),
  chain: Node.optional(),
  rest: z.unknown().optional(),
});

/** A message with a field of every kind. */
export const Form = service("test.v1.Form", {
  /** Answers with what it was given. */
  echo: rpc({ input: Everything, output: Everything }),
});
