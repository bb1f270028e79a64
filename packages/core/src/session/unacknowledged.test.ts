import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { createConnection } from "../connection/connection.js";
import { createRouter } from "../server/router.js";
import { createMemoryPair } from "../transport/memory.js";
import type { DirectSession, DirectStream, WebTransportSession } from "../transport/session.js";
import { createSession } from "./create-session.js";
import { createStreamSession } from "./create-stream-session.js";
import type { ClientSession } from "./session.js";
import { pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Unacknowledged", id: 79 };
const text = uncheckedCodec<string>();
const note = defineMethod(service, "notify", "note", { id: 1, input: text });

beforeEach(() => startVirtualTime());
afterEach(() => void vi.useRealTimers());

async function notify(session: Pick<ClientSession, "notify">, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await session.notify(note, "x");
  await pass(0);
}

/** Attaches a session to `there`, and returns the streams that it has received, so that the test can pause reading. */
function attachedPausable(there: DirectSession): { streams: DirectStream[] } {
  const streams: DirectStream[] = [];
  const watched: DirectSession = {
    attach: (handler) =>
      there.attach({
        onStream: (stream) => {
          streams.push(stream);
          handler.onStream(stream);
        },
        onClosed: (info, error) => handler.onClosed(info, error),
      }),
    openStream: () => there.openStream(),
    close: (info) => there.close(info),
  };
  createSession(watched, { routers: [createRouter({ note }, { note: () => {} })] });
  return { streams };
}

it("the peer is asked now and then, so that the number stays near the truth without a close", async () => {
  const [here, there] = createMemoryPair();
  const session = createSession(here);
  const { streams } = attachedPausable(there);
  await notify(session, 255);
  expect(session.unacknowledged).toBe(255);
  await notify(session, 1);
  await pass(0);
  expect(session.unacknowledged).toBe(0);
  streams[0]?.pause();
  await notify(session, 300);
  expect(session.unacknowledged).toBe(300);
  streams[0]?.resume();
  await pass(0);
  expect(session.unacknowledged).toBe(300 - 256);
  const closing = session.close();
  await pass(0);
  expect(await closing).toMatchObject({ unacknowledged: 0 });
});

it("what was on a lane that the peer gave up counts", async () => {
  const [here, there] = createMemoryPair();
  const session = createSession(here);
  const { streams } = attachedPausable(there);
  await notify(session, 1);
  streams[0]?.pause();
  await notify(session, 5);
  streams[0]?.reset(1);
  streams[0]?.stopSending(1);
  await pass(0);
  await notify(session, 2);
  const closing = session.close();
  await pass(0);
  expect(await closing).toMatchObject({ closeCode: 0, unacknowledged: 6 });
});

it("a second close waits as the first does, within its own time", async () => {
  const [here, there] = createMemoryPair();
  there.attach({ onStream: () => {}, onClosed: () => {} });
  const session = createSession(here);
  await notify(session, 3);
  const ends: number[] = [];
  const first = session.close({ timeoutMs: 1000 });
  void first.then(() => ends.push(1));
  const second = session.close({ timeoutMs: 200 });
  void second.then(() => ends.push(2));
  await pass(199);
  expect(ends).toEqual([]);
  await pass(1);
  expect(ends.length).toBeGreaterThan(0);
  await pass(800);
  expect(await Promise.all([first, second])).toMatchObject([{ unacknowledged: 3 }, { unacknowledged: 3 }]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a connection counts over all its sessions", async () => {
  const ends: DirectSession[] = [];
  const connection = createConnection(async () => {
    const [here, there] = createMemoryPair();
    there.attach({ onStream: () => {}, onClosed: () => {} });
    ends.push(there);
    return createSession(here);
  });
  await notify(await connection.ready(), 3);
  ends[0]?.close({ closeCode: 9 });
  await pass(100);
  await notify(await connection.ready(), 4);
  const closing = connection.close({ timeoutMs: 50 });
  await pass(50);
  expect(await closing).toMatchObject({ closeCode: 0, unacknowledged: 7 });
});

const sessions: Record<string, (here: DirectSession) => ClientSession> = {
  lanes: (here) => createSession(here),
  streams: (here) => createStreamSession(here as unknown as WebTransportSession),
};

it.each(Object.entries(sessions))(
  "a notification that could not be encoded does not count on a session of %s",
  async (_, create) => {
    const [here, there] = createMemoryPair();
    const { streams } = attachedPausable(there);
    const session: ClientSession = create(here);
    await expect(session.notify(note, (() => {}) as unknown as string)).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await notify(session, 1);
    expect(streams.length).toBeGreaterThan(0);
    const closing = session.close();
    await pass(0);
    expect(await closing).toMatchObject({ unacknowledged: 0 });
  },
);
