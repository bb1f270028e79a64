import { createConnection, createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

const chat = { name: "chat.v1.Chat", id: 1 };
const methods = {
  messages: defineMethod(chat, "server_stream", "messages", {
    id: 1,
    output: uncheckedCodec<{ id: number; before: number | null }>(),
    cursor: { field: "id", predecessor: "before" },
  }),
};
const router = createRouter(methods, {
  messages: async function* (_, { resumeFrom }) {
    for (let id = Number(resumeFrom ?? 0) + 1; id <= 4; id++) yield { id, before: id === 1 ? null : id - 1 };
  },
});

let server: Session | undefined;
const connection = createConnection(async () => {
  const [near, far] = createMemoryPair();
  server = createSession(far, { routers: [router] });
  return createSession(near);
});

const stream = connection.serverStream(methods.messages, undefined);
for await (const { id } of stream) {
  console.log(`${id}, at ${stream.cursor}`);
  if (id === 2) await server?.close({ closeCode: 1 }); // the server dies
}
await connection.close();
