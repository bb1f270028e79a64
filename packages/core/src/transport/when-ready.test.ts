import { expect, it } from "vitest";
import type { WebTransportSession } from "./session.js";
import { whenTransportReady } from "./web-session.js";

const never = new Promise<never>(() => {});

it.each(["before", "meanwhile"])(
  "a signal that fires %s closes the session, and is why it is not ready",
  async (when) => {
    const controller = new AbortController();
    const reason = new Error("no longer");
    let closes = 0;
    const session = { ready: never, closed: never, close: () => void closes++ } as unknown as WebTransportSession;
    if (when === "before") controller.abort(reason);
    const ready = whenTransportReady(session, controller.signal);
    controller.abort(reason);
    await expect(ready).rejects.toBe(reason);
    expect(closes).toBe(1);
  },
);
