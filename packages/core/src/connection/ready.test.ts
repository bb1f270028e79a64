import { expect, it } from "vitest";
import type { Session } from "../session/session.js";
import { untilAccepted } from "./ready.js";

it.each(["before", "meanwhile"])("a session that does not answer is closed where the signal fires %s", async (when) => {
  const controller = new AbortController();
  const closed = new Error("closed");
  let close!: () => void;
  const ping = new Promise<number>((_, reject) => {
    close = () => reject(closed);
  });
  const session = { ping: async () => ping, close: async () => close() } as unknown as Session;
  if (when === "before") controller.abort();
  const accepted = untilAccepted(session, controller.signal);
  controller.abort();
  await expect(accepted).rejects.toBe(closed);
});
