import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** A value of each type that docs/protocol.md knows. */
const Values = z.object({
  nothing: z.null(),
  flag: z.boolean(),
  text: z.string(),
  data: z.instanceof(Uint8Array),
  int: z.int(),
  real: z.number(),
  big: z.bigint(),
  at: z.date(),
  list: z.array(z.int()),
  pair: z.tuple([z.string(), z.int()]),
  set: z.set(z.int()),
  map: z.map(z.int(), z.string()),
  record: z.record(z.string(), z.int()),
  either: z.union([z.string(), z.int()]),
  gap: z.array(z.union([z.int(), z.undefined()])),
  maybe: z.string().optional(),
});

/** Methods that a client in another language calls. */
export const Protocol = service("interop.v1.Protocol", {
  echo: rpc({ input: Values, output: Values }),
  nested: rpc({ input: z.unknown(), output: z.int() }),
  count: rpc({ input: z.object({ to: z.int() }), output: stream(z.object({ i: z.int(), pad: z.string() })) }),
  sum: rpc({ input: stream(z.int()), output: z.int() }),
  talk: rpc({ input: stream(z.string()), output: stream(z.string()) }),
  copy: rpc({ input: bytes(), output: bytes() }),
  refuse: rpc({
    output: z.int(),
    errors: { TOO_MUCH: { code: "out_of_range", details: z.object({ most: z.bigint() }) } },
  }),
  wait: rpc({ output: z.int() }),
  waits: rpc({ output: z.object({ now: z.int(), cancelled: z.int() }) }),
  note: notify({ input: z.string() }),
  noted: rpc({ output: z.array(z.string()) }),
  leave: rpc({}),
});
