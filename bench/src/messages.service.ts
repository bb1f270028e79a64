import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

/** Two integers. */
const Pair = z.object({ a: z.int(), b: z.int() });

/** A typical record. */
const User = z.object({
  id: z.int(),
  name: z.string().min(1).max(64),
  email: z.string(),
  age: z.int().min(0).max(150),
  active: z.boolean(),
  role: z.enum(["admin", "editor", "viewer"]),
  tags: z.array(z.string()).max(8),
  address: z.object({
    street: z.string(),
    city: z.string(),
    zip: z.string(),
    country: z.string().optional(),
  }),
  createdAt: z.number(),
});

/** Many small objects. */
const Points = z.object({
  points: z.array(z.object({ x: z.number(), y: z.number(), label: z.string() })),
});

/** Long text. */
const Text = z.object({ title: z.string(), body: z.string() });

/** A loose object with unions: its shape interprets what is not compiled. */
const Event = z.looseObject({
  id: z.union([z.string(), z.int()]),
  at: z.number(),
  source: z.union([
    z.object({ host: z.string(), port: z.int() }),
    z.object({ file: z.string(), line: z.int().optional() }),
  ]),
  tags: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])),
  note: z.string().optional(),
});

/** Refinements, which zod runs, on many small objects. */
const Ranges = z.object({
  ranges: z.array(
    z.object({ from: z.number(), to: z.number(), label: z.string() }).refine(({ from, to }) => from <= to),
  ),
});

export const Messages = service("bench.v1.Messages", {
  pair: rpc({ input: Pair }),
  user: rpc({ input: User, output: User }),
  points: rpc({ input: Points, output: Points }),
  text: rpc({ input: Text }),
  event: rpc({ input: Event }),
  ranges: rpc({ input: Ranges }),
});
