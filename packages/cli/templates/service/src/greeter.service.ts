import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** The service of the server. `npm run gen` writes the client and the router to src/generated. */
export const Greeter = service("app.v1.Greeter", {
  /** Greets one person. */
  greet: rpc({ input: z.object({ name: z.string().min(1) }), output: z.object({ text: z.string() }) }),
  /** Counts down to zero. */
  countdown: rpc({ input: z.object({ from: z.int().min(0).max(10) }), output: stream(z.object({ left: z.int() })) }),
});
