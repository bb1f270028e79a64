import { connect, devCertificate } from "@quicrpc/node";
import { createChatClient } from "./generated/chat.js";

const { hash } = await devCertificate();
const session = await connect("quic://localhost:4433", { serverCertificateHashes: [hash] });
const chat = createChatClient(session);

const live = () => void chat.publishRoom({ id: "7", message: { from: "Ada", text: "hello" } });
for await (const { message, lost } of chat.subscribeRoom({ id: "7" }, { onResponseMetadata: live })) {
  if (lost !== undefined) console.log(`${lost} messages were dropped: this client was too slow`);
  console.log(`${message.from}: ${message.text}`);
  break; // leaving the loop ends the subscription
}
await session.close();
