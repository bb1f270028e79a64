import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

export const Greeter = service("demo.v1.Greeter", {
  /** Greets somebody. */
  greet: rpc({
    input: z.object({ name: z.string().min(1) }),
    output: z.object({ text: z.string(), at: z.date() }),
    readOnly: true,
  }),
  /** Counts down to 1. */
  count: rpc({ input: z.object({ from: z.int() }), output: stream(z.int()), readOnly: true }),
});
