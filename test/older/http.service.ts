import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Text = z.object({ text: z.string().max(2_000_000) });
const Kinds = z.object({ at: z.date(), data: z.instanceof(Uint8Array), big: z.bigint() });
const Count = z.object({ n: z.int(), size: z.int().optional(), failAfter: z.boolean().optional() });
const Item = z.object({ i: z.int(), pad: z.string().optional() });

/** One method of each kind and habit. */
export const Http = service("test.v1.Http", {
  echo: rpc({ input: Text, output: Text, readOnly: true }),
  change: rpc({ input: Text, output: Text }),
  nothing: rpc({}),
  kinds: rpc({ input: Kinds, output: Kinds }),
  fail: rpc({ errors: { EMPTY: { details: z.object({ left: z.int(), at: z.date() }) } } }),
  crash: rpc({}),
  wait: rpc({}),
  items: rpc({ input: Count, output: stream(Item), readOnly: true }),
  sum: rpc({ input: stream(z.number()), output: z.number() }),
  chat: rpc({ input: stream(z.string()), output: stream(z.string()) }),
  note: notify({ input: Text }),
  metadata: rpc({ output: z.record(z.string(), z.string()) }),
  /** Numbers from the one after the caller's on; `breakAfter` each so many. */
  follow: rpc({
    input: z.object({ upTo: z.int(), breakAfter: z.int().optional() }),
    output: stream(Item),
    cursor: "i",
    readOnly: true,
  }),
  endless: rpc({ output: stream(Item), readOnly: true }),
  /** Doubles what comes, and counts. */
  charge: rpc({
    input: z.object({ amount: z.bigint(), at: z.date() }),
    output: z.object({ amount: z.bigint(), at: z.date(), effects: z.int() }),
    errors: { BROKE: { details: z.object({ since: z.date() }) } },
    once: true,
  }),
  upload: rpc({ input: bytes(), output: z.int() }),
});
