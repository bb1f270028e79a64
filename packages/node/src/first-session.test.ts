import { RpcError } from "@quicrpc/core";
import { expect, it } from "vitest";
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
