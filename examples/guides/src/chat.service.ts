import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

// #region schema
export const Chat = service("talk.v1.Chat", {
  messages: rpc({
    output: stream(z.object({ id: z.int(), before: z.int().nullable(), text: z.string() })),
    cursor: { field: "id", predecessor: "before" }, // or "id" alone
  }),
});
// #endregion schema
