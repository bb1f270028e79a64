import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Id = z.string().regex(/^[\w-]{1,64}$/);

export const Assistant = service("assistant.v1.Assistant", {
  /** Starts an answer to the last message, and ends the one before it. It continues whether it is read or not. */
  ask: rpc({
    input: z.object({ chat: Id, question: Id, messages: z.array(z.unknown()).min(1).max(1000) }),
    idempotent: true,
  }),
  /** Returns the messages before the latest answer. */
  history: rpc({ input: z.object({ chat: Id }), output: z.array(z.unknown()), readOnly: true }),
  /** Streams the answer to `question`, by default the latest: its parts up to now, and each new one. */
  answer: rpc({
    input: z.object({ chat: Id, question: Id.optional() }),
    output: stream(z.object({ position: z.string(), part: z.unknown() })),
    cursor: "position",
    readOnly: true,
  }),
});
