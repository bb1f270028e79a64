import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Greeting } from "../transport/greeting.js";
import { writeRenewal } from "../wire/credentials.js";
import { FrameWriter } from "../wire/writer.js";
import type { Frame } from "../wire/frame.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import { ServerRenewal, type ServerRenewalHost } from "./server-renewal.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function frame(): Frame {
  const out = new FrameWriter(256);
  writeRenewal(out, { credentials: "ann", metadata: undefined });
  const bytes = out.written();
  return { bytes, start: 0, end: bytes.length } as Frame;
}

it("decides about the credentials of a client that sends them over and over no more often than it likes", async () => {
  const decided: (string | undefined)[] = [];
  let told = 0;
  const lane = { ended: false, sendCredentials: () => void told++ } as unknown as PeerLane;
  const host: ServerRenewalHost = {
    identify() {},
    drain: () => expect.unreachable(),
    openLane: () => lane,
    limits: { maxGreetingBytes: 1000 },
  };
  const renew = async ({ credentials }: Greeting): Promise<{ connection: unknown }> => {
    decided.push(credentials);
    return { connection: credentials };
  };
  const renewal = new ServerRenewal(host, { renew });
  renewal.onHello(lane, {});
  let sent = 0;
  for (let ms = 0; ms < 10_000; ms++) {
    // Each comes as soon as the one before is answered.
    if (told > sent) {
      sent++;
      renewal.onFrame(frame());
    }
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(decided.length).toBeGreaterThan(30);
  expect(decided.length).toBeLessThanOrEqual(41);
  renewal.stop();
  expect(vi.getTimerCount()).toBe(0);
});

it("a decision that had begun before credentials were demanded does not satisfy the demand", async () => {
  let drains = 0;
  let decide = (): void => {};
  const lane = { ended: false, sendCredentials: () => {} } as unknown as PeerLane;
  const host: ServerRenewalHost = {
    identify() {},
    drain: () => void drains++,
    openLane: () => lane,
    limits: { maxGreetingBytes: 1000 },
  };
  const renew = (): Promise<{ connection: unknown }> =>
    new Promise((resolve) => (decide = () => resolve({ connection: "ann" })));
  const renewal = new ServerRenewal(host, { renew });
  renewal.onHello(lane, {});
  renewal.onFrame(frame());
  // The look-up has read what the client may do; then that is revoked.
  renewal.demand({ withinMs: 1000 });
  decide();
  await vi.advanceTimersByTimeAsync(300);
  expect(drains).toBe(0);
  // Later credentials do.
  renewal.onFrame(frame());
  await vi.advanceTimersByTimeAsync(300);
  decide();
  await vi.advanceTimersByTimeAsync(2000);
  expect(drains).toBe(0);
  // The same again, without any.
  renewal.onFrame(frame());
  renewal.demand({ withinMs: 1000 });
  decide();
  await vi.advanceTimersByTimeAsync(1000);
  expect(drains).toBe(1);
  renewal.stop();
});
