import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Chat = z.string().regex(/^\w{1,64}$/);

export const Assistant = service("assistant.v1.Assistant", {
  /** Starts an answer to the last message. It continues whether it is read or not. */
  ask: rpc({ input: z.object({ chat: Chat, messages: z.array(z.unknown()).min(1).max(1000) }), idempotent: true }),
  /** Returns the messages before the latest answer. */
  history: rpc({ input: z.object({ chat: Chat }), output: z.array(z.unknown()), readOnly: true }),
  /** Streams the latest answer: its parts up to now, and each new one. */
  answer: rpc({
    input: z.object({ chat: Chat }),
    output: stream(z.object({ position: z.string(), part: z.unknown() })),
    cursor: "position",
    readOnly: true,
  }),
});
