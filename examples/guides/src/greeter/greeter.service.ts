import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

export const Greeter = service("hello.v1.Greeter", {
  /** Greets one person. */
  greet: rpc({ input: z.object({ name: z.string().min(1) }), output: z.object({ text: z.string() }) }),
  /** Counts down to zero. */
  countdown: rpc({ input: z.object({ from: z.int().max(10) }), output: stream(z.object({ left: z.int() })) }),
});
