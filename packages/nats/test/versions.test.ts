// The version of the server, as its greeting says it.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { natsTopics } from "@quicrpc/nats";
import { expect, onTestFinished, test } from "vitest";

/** Starts a server that greets as one of NATS does, and answers pings. Returns its address. */
async function greeting(version: string): Promise<string> {
  const server = createServer((socket) => {
    const info = { server_id: "A", version, proto: 1, max_payload: 1_048_576, headers: true, jetstream: true };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on("data", (bytes) => {
      if (String(bytes).includes("PING")) socket.write("PONG\r\n");
    });
    socket.on("error", () => {});
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each(["2.9.25", "1.4.1"])(
  "history is refused of a server of version %s, which would deliver nothing",
  async (version) => {
    const servers = await greeting(version);
    await expect(natsTopics({ servers, history: true })).rejects.toThrow(
      `natsTopics({ history }) requires NATS 2.10 or later, and ${servers} has ${version}`,
    );
  },
);
