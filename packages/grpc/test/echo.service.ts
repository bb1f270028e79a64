import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

export const Item = z.object({ text: z.string(), count: z.int() });

/** Methods of each kind. */
export const Echo = service("test.v1.Echo", {
  say: rpc({ input: Item, output: Item }),
  repeat: rpc({ input: Item, output: stream(Item) }),
  join: rpc({ input: stream(Item), output: Item }),
  each: rpc({ input: stream(Item), output: stream(Item) }),
  nothing: rpc({}),
  fail: rpc({
    input: z.object({ how: z.enum(["declared", "plain", "late"]) }),
    output: stream(Item),
    errors: { TOO_MANY: { code: "resource_exhausted", details: z.object({ most: z.int() }) } },
  }),
});
