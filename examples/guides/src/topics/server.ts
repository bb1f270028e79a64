import { createTopics } from "@quicrpc/topics";
import { devCertificate, serve } from "@quicrpc/node";
import { createChatRouter, createChatTopics } from "./generated/chat.js";

const topics = createTopics(); // in this process; below, in many
const chat = createChatTopics(topics, {
  room: { authorize: (access, { id }) => access === "subscribe" || id !== "news" },
  notices: { authorize: (access) => access === "subscribe" },
});
await serve({ port: 4433, tls: await devCertificate(), routers: [createChatRouter({}, chat)] });

// The server publishes as well, and may subscribe.
setInterval(() => void chat.room.publish({ id: "news", message: { from: "server", text: "still here" } }), 1000);
