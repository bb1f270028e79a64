import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

/** Greets. */
export const Greeter = service("demo.v1.Greeter", {
  greet: rpc({ input: z.object({ name: z.string() }), output: z.object({ text: z.string() }) }),
});
