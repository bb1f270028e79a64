import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

export const Shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("circle"), radius: z.number() }),
  z.object({ kind: z.literal("square"), side: z.number() }),
]);

/** Keeps drawings. */
export const DrawingService = service("art.v1.DrawingService", {
  /** Adds a drawing. */
  add: rpc({
    input: z.object({
      title: z.string().min(1),
      /** Shown below the drawing. */
      note: z.string().optional(),
      status: z.enum(["draft", "public"]),
      shapes: z.array(Shape),
      madeAt: z.date(),
    }),
    output: z.object({ id: z.int() }),
  }),
});
