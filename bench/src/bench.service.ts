import { notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** Methods that every contestant offers. */
export const Bench = service("bench.v1.Bench", {
  multiply: rpc({ input: z.object({ a: z.int(), b: z.int() }), output: z.object({ pro: z.int() }) }),
  empty: rpc({ idempotent: true }),
  echo: rpc({ input: z.instanceof(Uint8Array), output: z.instanceof(Uint8Array) }),
  /** Answers after the given number of milliseconds. */
  wait: rpc({ input: z.object({ ms: z.int() }) }),
  tell: notify({ input: z.object({ i: z.int() }) }),
  /** Returns how often `tell` was received since the previous call. */
  told: rpc({ input: z.object({ expected: z.int() }), output: z.object({ count: z.int() }) }),
  items: rpc({ input: z.object({ count: z.int() }), output: stream(z.object({ i: z.int() })) }),
  upload: rpc({ input: stream(z.instanceof(Uint8Array)), output: z.object({ bytes: z.int() }) }),
  pipe: rpc({ input: stream(z.instanceof(Uint8Array)), output: stream(z.instanceof(Uint8Array)) }),
});
