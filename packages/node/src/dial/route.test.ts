// Servers that drain and say where to go, in virtual time.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Connection,
  createConnection,
  createSession,
  ServerLoad,
  type Session,
  type TransportError,
} from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { SessionDrainOptions } from "@quicrpc/core/internal";
import { createMemoryPair, SessionCode } from "@quicrpc/core/transport";
import { Route, type TrustedAddresses } from "./route.js";
import type { LaneSession } from "../../../core/src/session/lane-session.js";
import { LiveLog } from "../../../core/test/live-log.js";
import { meanwhile, pass, startVirtualTime } from "../../../core/test/virtual-time.js";

const service = { name: "test.v1.Moves", id: 80 };

interface Entry {
  readonly id: number;
  readonly before: number;
}

const number = uncheckedCodec<number>();
const methods = {
  follow: defineMethod(service, "server_stream", "follow", {
    id: 1,
    output: uncheckedCodec<Entry>(),
    cursor: { field: "id", predecessor: "before" },
  }),
  slow: defineMethod(service, "unary", "slow", { id: 3, output: number }),
};

const [A, B, C] = ["quic://a:1", "quic://b:1", "quic://c:1"] as const;

/** Milliseconds that creating a session takes. */
const DIAL_MS = 5;

/** One of several servers that serve the same log. */
class Host {
  readonly sessions: Session[] = [];
  readonly load: ServerLoad = new ServerLoad();
  /** True if the server refuses new sessions. */
  down = false;
  /** Options with which each new session is drained at once. Undefined: new sessions are not drained. */
  leaving: SessionDrainOptions | undefined = undefined;

  get latest(): Session {
    return this.sessions.at(-1) as Session;
  }
}

class Fleet {
  readonly hosts: ReadonlyMap<string, Host> = new Map([A, B, C].map((address) => [address, new Host()]));
  /** Dialled addresses, in order. */
  readonly dialled: string[] = [];
  readonly told: string[] = [];
  readonly log: LiveLog = new LiveLog();
  release: () => void = () => {};

  host(address: string): Host {
    return this.hosts.get(address) as Host;
  }

  connect(allowedRedirects: TrustedAddresses = [A, B, C], own: string = A): Connection {
    const route = new Route<Session>({
      ownUrl: own,
      dial: (signal) => this.dial(own, signal),
      dialTo: (address, signal) => this.dial(address, signal),
      allowedRedirects,
      onError: (error) => this.told.push((error as TransportError).code),
    });
    connection = createConnection((signal, left?: Session) => route.dial(signal, left));
    return connection;
  }

  /** Ends all servers. */
  end(): void {
    for (const { sessions, load } of this.hosts.values()) {
      load.end();
      for (const each of sessions) void each.close({ closeCode: 1 });
    }
  }

  async dial(address: string, signal?: AbortSignal): Promise<Session> {
    this.dialled.push(address);
    // oxlint-disable-next-line eslint/no-restricted-globals -- the clock is virtual
    await new Promise((resolve) => setTimeout(resolve, DIAL_MS));
    signal?.throwIfAborted();
    const host = this.host(address);
    if (host.down) throw new Error("nobody listens");
    const [ours, theirs] = createMemoryPair();
    const router = createRouter(methods, {
      follow: (_, { resumeFrom, signal }) => this.read(Number(resumeFrom ?? 0), signal),
      slow: () => new Promise<number>((resolve) => (this.release = () => resolve(7))),
    });
    const session = createSession(theirs, { routers: [router], load: host.load, onError: () => {} });
    host.sessions.push(session);
    if (host.leaving !== undefined) void session.drain(host.leaving);
    return createSession(ours);
  }

  private async *read(after: number, signal: AbortSignal): AsyncGenerator<Entry> {
    for await (const id of this.log.read(after, signal)) yield { id, before: id - 1 };
  }
}

let fleet: Fleet;
let connection: Connection;
beforeEach(() => {
  startVirtualTime();
  fleet = new Fleet();
});
afterEach(async () => {
  await meanwhile(connection.close({ closeCode: 1 }));
  fleet.end();
  await pass(10);
  const [timers, open] = [vi.getTimerCount(), fleet.log.readers];
  vi.useRealTimers();
  if (timers > 0 || open > 0) throw new Error(`${timers} timers and ${open} handlers are left`);
});

/** Takes `count` items and expects them to be consecutive. */
async function take(items: AsyncIterator<Entry>, first: number, count: number): Promise<void> {
  for (let id = first; id < first + count; id++) {
    expect((await meanwhile(items.next())).value).toEqual({ id, before: id - 1 });
  }
}

async function followed(): Promise<AsyncIterator<Entry>> {
  const items = connection.serverStream(methods.follow, undefined).values();
  fleet.log.append(2);
  await take(items, 1, 2);
  return items;
}

const drain = (address: string, options: SessionDrainOptions): ReturnType<Session["drain"]> =>
  fleet.host(address).latest.drain(options);

describe("a server that drains and names another", () => {
  it("moves streams with cursors there, and calls in progress finish where they are", async () => {
    fleet.connect();
    const items = await followed();
    const call = connection.unary(methods.slow, undefined);
    await pass(1);
    const drained = drain(A, { to: B, timeoutMs: 60_000 });
    await pass(DIAL_MS - 1);
    // Make before break: the stream stays until there is a session to go to.
    fleet.log.append(1);
    await take(items, 3, 1);
    await pass(10);
    expect(fleet.dialled).toEqual([A, B]);
    fleet.log.append(3);
    await take(items, 4, 3);
    fleet.release();
    expect(await meanwhile(call)).toBe(7);
    expect(await meanwhile(drained)).toMatchObject({ closeCode: 0 });
    expect(fleet.told).toEqual([]);
  });

  it("says how long calls have, and that it ends", async () => {
    fleet.connect();
    const session = await meanwhile(connection.ready());
    expect(session.departure).toBeUndefined();
    void drain(A, { to: B, timeoutMs: 2500.4, final: true });
    await pass(1);
    expect(session.departure).toEqual({ to: B, withinMs: 2500, final: true });
  });

  it("is not followed to an address that the client was not told to trust, which is said once", async () => {
    fleet.connect([C]);
    await followed();
    for (let i = 0; i < 3; i++) {
      void drain(A, { to: B });
      await pass(2000);
    }
    expect(fleet.dialled).toEqual([A, A, A, A]);
    expect(fleet.told).toEqual(["ERR_GOAWAY_UNTRUSTED"]);
    void drain(A, { to: "no url" });
    await pass(2000);
    expect(fleet.told).toEqual(["ERR_GOAWAY_UNTRUSTED", "ERR_GOAWAY_ADDRESS"]);
  });

  it("is followed where a test of addresses says so, however they are written", async () => {
    const asked: string[] = [];
    fleet.connect((url) => asked.push(url) > 0);
    await followed();
    void drain(A, { to: "QUIC://b:1" });
    await pass(100);
    expect(asked).toEqual([B]);
    expect(fleet.dialled).toEqual([A, B]);
  });

  it("may name the connection's own address, which needs no trust", async () => {
    fleet.connect([B]);
    const items = await followed();
    void drain(A, { to: B });
    await pass(2000);
    void drain(B, { to: A });
    await pass(2000);
    fleet.log.append(1);
    await take(items, 3, 1);
    expect(fleet.dialled).toEqual([A, B, A]);
  });

  it("may be sent back soon: servers that are restarted in turn are no loop", async () => {
    fleet.connect([A, B], C);
    const items = await followed();
    const dialled: string[] = [C];
    for (const [from, to] of [
      [C, A],
      [A, B],
      [B, A],
      [A, B],
    ] as const) {
      await pass(300);
      fleet.host(from).down = true;
      fleet.host(to).down = false;
      void drain(from, { to });
      dialled.push(to);
    }
    await pass(300);
    fleet.log.append(1);
    await take(items, 3, 1);
    expect(fleet.dialled).toEqual(dialled);
    expect(fleet.told).toEqual([]);
  });

  it("refuses an address that is too long for a goaway", async () => {
    fleet.connect();
    await meanwhile(connection.ready());
    await expect(drain(A, { to: `quic://${"b".repeat(1024)}` })).rejects.toThrow(TypeError);
    expect(fleet.host(A).latest.takesCalls).toBe(true);
  });
});

describe("a move that goes wrong", () => {
  it("goes back to the connection's own address where the target is dead", async () => {
    fleet.connect();
    const items = await followed();
    fleet.host(B).down = true;
    fleet.host(A).down = true;
    void drain(A, { to: B });
    await pass(100);
    // The server that drains serves the stream meanwhile.
    fleet.log.append(1);
    await take(items, 3, 1);
    fleet.host(A).down = false;
    await pass(5000);
    fleet.log.append(1);
    await take(items, 4, 1);
    expect(fleet.told).toEqual(["ERR_GOAWAY_UNREACHABLE"]);
    expect(fleet.host(A).sessions).toHaveLength(2);
    const { length } = fleet.dialled;
    void drain(A, {});
    await pass(2000);
    expect(fleet.dialled.slice(length)).toEqual([A]);
  });

  it("goes on along a chain where the target drains too", async () => {
    fleet.connect();
    const items = await followed();
    fleet.host(B).leaving = { to: C };
    void drain(A, { to: B });
    await pass(2000);
    fleet.log.append(2);
    await take(items, 3, 2);
    expect(fleet.dialled).toEqual([A, B, C]);
    expect(fleet.told).toEqual([]);
  });

  it("finds a loop, and is in no hurry there", async () => {
    fleet.connect();
    const items = await followed();
    fleet.host(A).leaving = { to: B };
    fleet.host(B).leaving = { to: C };
    fleet.host(C).leaving = { to: B };
    void drain(A, { to: B });
    await pass(60_000);
    expect(new Set(fleet.told)).toEqual(new Set(["ERR_GOAWAY_LOOP"]));
    expect(fleet.dialled.length).toBeLessThan(40);
    fleet.host(A).leaving = undefined;
    await pass(60_000);
    fleet.log.append(1);
    await take(items, 3, 1);
    expect(connection.session).toBeDefined();
    expect(fleet.dialled.at(-1)).toBe(A);
  });

  it("goes on in what seems a loop where the connection's own address does not answer", async () => {
    fleet.connect([A, B], C);
    const items = await followed();
    fleet.host(C).down = true;
    fleet.host(A).leaving = { to: B };
    fleet.host(B).leaving = { to: A };
    void drain(C, { to: A });
    await pass(10_000);
    fleet.host(A).leaving = undefined;
    await pass(60_000);
    fleet.log.append(1);
    await take(items, 3, 1);
    expect(fleet.dialled.at(-1)).toBe(A);
    expect(fleet.dialled.length).toBeLessThan(60);
  });

  it("leaves a target whose first session is lost at once", async () => {
    fleet.connect();
    const items = await followed();
    void drain(A, { to: B });
    await pass(DIAL_MS + 1);
    void fleet.host(B).latest.close({ closeCode: 0x10e, reason: "draining as well" });
    await pass(2000);
    fleet.log.append(1);
    await take(items, 3, 1);
    expect(fleet.dialled).toEqual([A, B, A]);
  });

  it("loses nothing where the old server is killed before the new one is reached", async () => {
    fleet.connect();
    const items = await followed();
    void drain(A, { to: B });
    await pass(DIAL_MS - 2);
    fleet.log.append(1);
    void fleet.host(A).latest.close({ closeCode: 9, reason: "killed" });
    await pass(2000);
    fleet.log.append(1);
    await take(items, 3, 2);
    expect(fleet.dialled).toEqual([A, B]);
  });

  it("loses nothing where the new server is killed while the stream moves", async () => {
    fleet.connect();
    const items = await followed();
    void drain(A, { to: B });
    await pass(DIAL_MS);
    fleet.log.append(2);
    void fleet.host(B).latest.close({ closeCode: 9, reason: "killed" });
    await pass(2000);
    await take(items, 3, 2);
  });

  it("stops at the drain's deadline where the client takes no notice", async () => {
    fleet.connect();
    await meanwhile(connection.ready());
    const alone = await meanwhile(fleet.dial(B));
    const items = alone.serverStream(methods.follow, undefined).values();
    fleet.log.append(1);
    await take(items, 1, 1);
    const drained = drain(B, { to: C, timeoutMs: 1000 });
    await pass(999);
    fleet.log.append(1);
    await take(items, 2, 1);
    await pass(1);
    expect(await meanwhile(drained)).toMatchObject({ closeCode: SessionCode.DrainTimeout });
    await expect(items.next()).rejects.toMatchObject({ code: "unavailable" });
  });
});

it("a stage that is not known is passed over", async () => {
  fleet.connect();
  const session = await meanwhile(connection.ready());
  (fleet.host(A).latest as unknown as LaneSession<never>).openLane()?.goaway(7);
  await pass(1);
  expect(session.takesCalls).toBe(true);
  expect(connection.state).toEqual({ status: "ready" });
});

const address = fc.constantFrom(A, B, C);

/** Generates one event: a change of a server, or time that passes. */
const happening = fc.oneof(
  fc.record({ kind: fc.constant("drain" as const), at: address, to: fc.option(address, { nil: undefined }) }),
  fc.record({ kind: fc.constant("kill" as const), at: address }),
  fc.record({ kind: fc.constantFrom("down" as const, "up" as const, "leaves" as const), at: address }),
  fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 1500 }) }),
);

it("whatever servers say and become, every item arrives once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 40 }), async (happenings) => {
      fleet = new Fleet();
      fleet.connect();
      await meanwhile(connection.ready());
      const items = connection.serverStream(methods.follow, undefined, { resumeForMs: Infinity }).values();
      for (const one of happenings) {
        if (one.kind === "append") fleet.log.append(one.count);
        else if (one.kind === "pass") await pass(one.ms);
        else {
          const host = fleet.host(one.at);
          if (one.kind === "drain") void host.sessions.at(-1)?.drain({ to: one.to, timeoutMs: 3000, final: true });
          else if (one.kind === "kill") void host.sessions.at(-1)?.close({ closeCode: 9, reason: "killed" });
          else host.down = one.kind !== "up";
          host.leaving = one.kind === "leaves" ? { to: B } : undefined;
        }
      }
      for (const host of fleet.hosts.values()) Object.assign(host, { down: false, leaving: undefined });
      await take(items, 1, fleet.log.length);
      void items.return?.();
      await meanwhile(connection.close());
      fleet.end();
    }),
    { numRuns: 60 },
  );
});
