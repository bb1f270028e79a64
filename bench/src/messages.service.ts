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

export const Messages = service("bench.v1.Messages", {
  pair: rpc({ input: Pair }),
  user: rpc({ input: User, output: User }),
  points: rpc({ input: Points, output: Points }),
  text: rpc({ input: Text }),
});
