import { service } from "@quicrpc/core";
import { topic } from "@quicrpc/topics";
import { z } from "zod";

export const Message = z.object({ from: z.string(), text: z.string().max(2000) });

export const Chat = service("chat.v1.Chat", {
  /** What is said in a room. */
  room: topic("room.{id}", Message),
  /** For everybody. */
  notices: topic("notices", Message, { history: true }), // below
});
