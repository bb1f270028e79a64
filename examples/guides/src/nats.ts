// Topics across machines: see packages/nats/README.md.
import { natsTopics } from "@quicrpc/nats";
import { type ChatTopics, createChatTopics } from "./topics/generated/chat.js";

export async function chatOverNats(): Promise<ChatTopics> {
  // #region topics
  // In the place of createTopics(). For topics with history the servers need JetStream.
  const topics = await natsTopics({ servers: ["nats-1:4222", "nats-2:4222"], history: true });
  const chat = createChatTopics(topics, { room: { authorize: "everybody" }, notices: { authorize: "everybody" } });
  // #endregion topics
  return chat;
}
