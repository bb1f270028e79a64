import { expect, it, vi } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { createSessionPair } from "./sessions.js";

it("calls both ways, by a runner's clock", async () => {
  vi.useFakeTimers();
  try {
    const [ours, theirs] = [behaviourRouter(new Witness()), behaviourRouter(new Witness())];
    const pair = createSessionPair({ server: { routers: [ours] }, client: { routers: [theirs] } });
    const { client, server } = pair;
    expect(await client.unary(methods.echo, { text: "a" })).toEqual({ text: "a" });
    expect(await server.unary(methods.echo, { text: "b" })).toEqual({ text: "b" });
    const waiting = client.unary(methods.wait, { text: "c" }, { timeoutMs: 60_000 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await waiting).toMatchObject({ code: "deadline_exceeded" });
    await pair.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
