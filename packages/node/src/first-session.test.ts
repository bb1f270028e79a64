import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { RpcError } from "@quicrpc/core";
import { expect, it } from "vitest";
import { connect } from "./connect.js";
import { firstSession } from "./first-session.js";

it("names the server where a session is refused before anybody has seen it", async () => {
  const ready = (): Promise<never> => Promise.reject(new RpcError("unauthenticated", "who are you?"));
  await expect(firstSession(ready, () => "quic://shop.example", {}, 1000)).rejects.toMatchObject({
    code: "unauthenticated",
    message: "quic://shop.example refused the session: who are you?",
  });
});

it("passes on what else keeps a session from being made", async () => {
  const failure = new TypeError("no URL");
  await expect(
    firstSession(
      () => Promise.reject(failure),
      () => "",
      {},
      1000,
    ),
  ).rejects.toBe(failure);
});

it("a server that breaks the protocol after its hello neither stops the event loop nor keeps connect waiting", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    // The peer's hello, and the answer to a call that was never made.
    socket.once("data", () => socket.write(Buffer.from("03000001030340c0", "hex")));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const made = connect(`tcp://127.0.0.1:${port}`, { credentials: () => "t", timeoutMs: 300 });
  await expect(made).rejects.toThrow("127.0.0.1");
  server.close();
});
