import { expect, it } from "vitest";
import { defineMethod } from "../client/define-method.js";
import { createMemoryPair } from "../transport/memory.js";
import { createSession } from "./create-session.js";

it("a call on a closed session says what to do", async () => {
  const [near, far] = createMemoryPair();
  const session = createSession(near);
  createSession(far);
  await session.close();
  const ping = defineMethod({ name: "test.v1.Closed", id: 1 }, "unary", "ping", { id: 1 });
  await expect(session.unary(ping, undefined)).rejects.toMatchObject({
    code: "unavailable",
    refused: true,
    message: "the session was closed",
    hint: "make calls before the session ends, or by a connection, which makes another session",
  });
});
