import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Greeting } from "../transport/greeting.js";
import { writeRenewal } from "../wire/credentials.js";
import * as FrameType from "../wire/frame-type.js";
import { FrameReader } from "../wire/reader.js";
import { FrameWriter } from "../wire/writer.js";
import type { Frame } from "../wire/frame.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import { MemoryBudget } from "../memory-budget.js";
import { ClientRenewal } from "./client-renewal.js";
import { ServerRenewal, type ServerRenewalHost } from "./server-renewal.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

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
    limits: { maxGreetingBytes: 1000, maxHandshakeMs: 10_000 },
  };
  const renew = async ({ credentials }: Greeting): Promise<{ connection: unknown }> => {
    decided.push(credentials);
    return { connection: credentials };
  };
  const renewal = new ServerRenewal(host, { renew });
  renewal.onHello(lane, {});
  let sent = 0;
  for (let ms = 0; ms < 10_000; ms++) {
    // The client sends new credentials as soon as the server has accepted the previous ones.
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
    limits: { maxGreetingBytes: 1000, maxHandshakeMs: 10_000 },
  };
  const renew = (): Promise<{ connection: unknown }> =>
    new Promise((resolve) => (decide = () => resolve({ connection: "ann" })));
  const renewal = new ServerRenewal(host, { renew });
  renewal.onHello(lane, {});
  renewal.onFrame(frame());
  // Demands credentials while `renew` is running, which may have read outdated permissions.
  renewal.demand({ withinMs: 1000 });
  decide();
  await vi.advanceTimersByTimeAsync(300);
  expect(drains).toBe(0);
  // Credentials that arrive later satisfy the demand.
  renewal.onFrame(frame());
  await vi.advanceTimersByTimeAsync(300);
  decide();
  await vi.advanceTimersByTimeAsync(2000);
  expect(drains).toBe(0);
  // Demands credentials in the same way, but the client sends none.
  renewal.onFrame(frame());
  renewal.demand({ withinMs: 1000 });
  decide();
  await vi.advanceTimersByTimeAsync(5999);
  expect(drains).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(drains).toBe(1);
  renewal.stop();
});

/**
 * Creates the client's and the server's side of a credentials renewal in which `renew` takes `decisionMs` milliseconds.
 */
function renewingPair(decisionMs: number): { client: ClientRenewal; server: ServerRenewal; drains: () => number } {
  let drains = 0;
  const laneTo = (onFrame: (frame: Frame) => void): PeerLane => {
    const sendCredentials = (write: (out: FrameWriter) => void): void => {
      const out = new FrameWriter(64);
      out.frame(FrameType.Credentials, 0, write);
      new FrameReader(1000, new MemoryBudget(1000, "test")).push(out.written(), 0, { onFrame });
    };
    return { ended: false, sendCredentials } as unknown as PeerLane;
  };
  const toClient = laneTo((frame) => client.onFrame(frame));
  const toServer = laneTo((frame) => server.onFrame(frame));
  const host = {
    identify() {},
    drain: () => void drains++,
    openLane: () => toClient,
    limits: { maxGreetingBytes: 1000, maxHandshakeMs: 10_000 },
  };
  const renew = (): Promise<{ connection: unknown }> =>
    // oxlint-disable-next-line no-restricted-globals -- the clock is virtual
    new Promise((resolve) => void setTimeout(() => resolve({ connection: "ann" }), decisionMs));
  const server = new ServerRenewal(host, { renew });
  const client = new ClientRenewal({ openLane: () => toServer }, async () => ({ credentials: "ann" }));
  server.onHello(toClient, {});
  return { client, server, drains: () => drains };
}

it.each([
  [3000, 500, 0],
  [3000, 500, 0.999],
  [3000, 7000, 0],
  [3000, 7000, 0.999],
  [10_000, 7000, 0],
  [10_000, 7000, 0.999],
])(
  "a client that answers each demand is not drained if %i ms are given, a decision takes %i and Math.random() is %f",
  async (withinMs, decisionMs, random) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    for (const sinceRenewalMs of [1, decisionMs - 1, decisionMs + 1, decisionMs + 4000]) {
      const { client, server, drains } = renewingPair(decisionMs);
      client.onUnauthenticated();
      await vi.advanceTimersByTimeAsync(sinceRenewalMs);
      server.demand({ withinMs });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(drains(), `demanded ${sinceRenewalMs} ms after the renewal began`).toBe(0);
      client.stop();
      server.stop();
    }
  },
);

it.each([[[]], [[100]], [[100, 5000, 9999]]])(
  "a session drains once if a decision never comes, also if credentials are demanded again after %j ms",
  async (againAtMs) => {
    const { client, server, drains } = renewingPair(2 ** 30);
    client.onUnauthenticated();
    await vi.advanceTimersByTimeAsync(0);
    let now = 0;
    for (const at of againAtMs) {
      await vi.advanceTimersByTimeAsync(at - now);
      now = at;
      server.demand({ withinMs: 1000 });
    }
    await vi.advanceTimersByTimeAsync(9999 - now);
    expect(drains()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(drains()).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(drains()).toBe(1);
    client.stop();
    server.stop();
  },
);
