// Topics across machines: see packages/nats/README.md.
import { natsTopics } from "@quicrpc/nats";
import { type ChatTopics, createChatTopics } from "./topics/generated/chat.js";

export async function chatOverNats(): Promise<ChatTopics> {
  // #region topics
  const topics = await natsTopics({ servers: ["nats-1:4222", "nats-2:4222"] }); // in the place of createTopics()
  const chat = createChatTopics(topics, { room: { authorize: "everybody" }, notices: { authorize: "everybody" } });
  // #endregion topics
  return chat;
}
