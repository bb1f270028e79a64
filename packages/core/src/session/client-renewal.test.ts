import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FrameReader } from "../wire/reader.js";
import { FrameWriter } from "../wire/writer.js";
import { type CredentialsNotice, readRenewal, writeNotice } from "../wire/credentials.js";
import type { Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import type { RawGreeting } from "../wire/hello.js";
import { MemoryBudget } from "../memory-budget.js";
import { ClientRenewal } from "./client-renewal.js";

const HOUR = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function frames(out: FrameWriter, onFrame: (frame: Frame) => void): void {
  new FrameReader(1000, new MemoryBudget(1000, "test")).push(out.written(), 0, { onFrame });
}

interface Renewing {
  readonly renewal: ClientRenewal;
  readonly given: (string | undefined)[];
  readonly asked: () => number;
  readonly tell: (notice: CredentialsNotice) => void;
}

function renewing(ask: (n: number) => Promise<RawGreeting | undefined>): Renewing {
  const given: (string | undefined)[] = [];
  let asked = 0;
  const sendCredentials = (write: (out: FrameWriter) => void): void => {
    const out = new FrameWriter(64);
    out.frame(FrameType.Credentials, 0, write);
    frames(out, (frame) => given.push(readRenewal(frame).credentials));
  };
  const host = { openLane: () => ({ sendCredentials }) };
  const renewal = new ClientRenewal(host, () => ask(++asked));
  const tell = (notice: CredentialsNotice): void => {
    const out = new FrameWriter(64);
    out.frame(FrameType.Credentials, 0, () => writeNotice(out, notice));
    frames(out, (frame) => renewal.onFrame(frame));
  };
  return { renewal, given, asked: () => asked, tell };
}

const token = async (n: number): Promise<RawGreeting> => ({ credentials: `token ${n}` });

it.each([
  ["a seventh before they expire", 100_000, 85_000],
  ["two minutes before at most", HOUR, HOUR - 120_000],
  ["at once, where they have expired", 0, 0],
  ["later than a timer can wait", 60 * 24 * HOUR, 60 * 24 * HOUR - 120_000],
])("asks for credentials %s", async (_, leftMs, at) => {
  const { given, tell } = renewing(token);
  tell({ kind: "valid", leftMs });
  await vi.advanceTimersByTimeAsync(Math.max(0, at - 1));
  if (at > 0) expect(given).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(given).toEqual(["token 1"]);
});

it("goes on as long as they expire", async () => {
  const { given, tell } = renewing(token);
  tell({ kind: "valid", leftMs: 10_000 });
  for (let n = 1; n <= 3; n++) {
    await vi.advanceTimersByTimeAsync(10_000);
    expect(given).toHaveLength(n);
    tell({ kind: "valid", leftMs: n === 3 ? undefined : 10_000 });
  }
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(given).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});

it.each<[string, CredentialsNotice]>([
  ["says that they have expired", { kind: "valid", leftMs: 0 }],
  ["wants them at once", { kind: "wanted", withinMs: 0 }],
])("asks no more often than every five seconds for a server that %s", async (_, notice) => {
  const { asked, given, tell } = renewing(token);
  for (let ms = 0; ms < 20_000; ms += 100) {
    // The server accepts the credentials and sends one further notice.
    if (given.length > 0) tell({ kind: "valid", leftMs: 0 });
    tell(notice);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(asked()).toBe(4);
});

it("does not let a server hurry a question that has failed", async () => {
  const { asked, renewal, tell } = renewing(async () => {
    throw new Error("no token");
  });
  for (let ms = 0; ms < 10_000; ms += 10) {
    tell({ kind: "wanted", withinMs: 0 });
    renewal.onUnauthenticated();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(asked()).toBeLessThan(10);
});

it("asks once at a time, whatever the server says before it was answered", async () => {
  const { asked, tell } = renewing(() => new Promise(() => {}));
  for (let ms = 0; ms < 60_000; ms += 1000) {
    tell({ kind: "valid", leftMs: 0 });
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(asked()).toBe(1);
});

it("asks once at a time, whoever wants them", async () => {
  let answer!: (greeting: RawGreeting) => void;
  const { renewal, given, asked, tell } = renewing(() => new Promise((resolve) => (answer = resolve)));
  renewal.onUnauthenticated();
  expect(asked()).toBe(0); // the server has not said that it takes them
  tell({ kind: "valid", leftMs: undefined });
  renewal.onUnauthenticated();
  tell({ kind: "wanted", withinMs: 0 });
  renewal.onUnauthenticated();
  await vi.advanceTimersByTimeAsync(10);
  expect(asked()).toBe(1);
  answer({ credentials: "token" });
  await vi.advanceTimersByTimeAsync(0);
  renewal.onUnauthenticated();
  expect({ asked: asked(), given }).toEqual({ asked: 1, given: ["token"] });
});

it("asks no more often than every five seconds for calls that fail all the same", async () => {
  const { renewal, asked, tell } = renewing(token);
  tell({ kind: "valid", leftMs: undefined });
  for (let n = 0; n < 100; n++) {
    renewal.onUnauthenticated();
    await vi.advanceTimersByTimeAsync(100);
    tell({ kind: "valid", leftMs: undefined });
  }
  expect(asked()).toBe(2);
});

it("asks again where the question failed, less and less often", async () => {
  const { given, asked, tell } = renewing(async (n) => {
    if (n < 4) throw new Error("no token");
    return token(n);
  });
  tell({ kind: "wanted", withinMs: 0 });
  await vi.advanceTimersByTimeAsync(10_000);
  expect({ asked: asked(), given }).toEqual({ asked: 4, given: ["token 4"] });
});

it("spreads what a server wants of many", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  const { asked, tell } = renewing(token);
  tell({ kind: "wanted", withinMs: 1000 });
  await vi.advanceTimersByTimeAsync(499);
  expect(asked()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked()).toBe(1);
});

it("forgets a session that has ended", async () => {
  const { renewal, tell } = renewing(token);
  tell({ kind: "valid", leftMs: 1000 });
  renewal.stop();
  expect(vi.getTimerCount()).toBe(0);
});
