import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DirectSession, DirectStream, WebTransportSession, WebTransportStream } from "./session.js";
import { directSession } from "./web-session.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Frames that Chromium keeps until they are acknowledged. */
const MAX_KEPT = 1000;

/** A session as Chromium's, which ends with too many resets and stop-sendings that the peer has not acknowledged. */
class Keeping implements WebTransportSession {
  /** Frames sent, and acknowledged. */
  sent = 0;
  acknowledged = 0;
  allowsProbes = true;
  /** Streams wait for room that the peer does not give. */
  isFull = false;
  probes = 0;
  most = 0;
  private readonly unanswered: { readonly sent: number; readonly answer: () => void }[] = [];
  fail!: (error: Error) => void;
  readonly ready: Promise<void> = Promise.resolve();
  readonly closed: Promise<undefined> = new Promise((_, reject) => {
    this.fail = reject;
  });
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportStream> = new ReadableStream();

  close(): void {}

  async createBidirectionalStream(): Promise<WebTransportStream> {
    const keep = (): void => this.keep();
    return {
      readable: new ReadableStream({ cancel: keep }),
      writable: new WritableStream({ abort: keep }),
    };
  }

  async createUnidirectionalStream(): Promise<WritableStream> {
    if (!this.allowsProbes) throw new DOMException("Failed to create unidirectional stream.", "NetworkError");
    if (this.isFull) return new Promise(() => {});
    this.probes++;
    return new WritableStream({
      close: () => new Promise((answer) => this.unanswered.push({ sent: this.sent, answer })),
    });
  }

  /** The peer's acknowledgement of all that was sent until now arrives. */
  acknowledge(): void {
    this.acknowledged = this.sent;
    for (const { answer } of this.unanswered.splice(0)) answer();
  }

  private keep(): void {
    this.sent++;
    this.most = Math.max(this.most, this.sent - this.acknowledged);
    if (this.most > MAX_KEPT) this.fail(new Error("Connection lost."));
  }
}

/** Streams that are open, in `limited`. */
async function opened(
  keeping: WebTransportSession,
  count: number,
): Promise<{ streams: DirectStream[]; ends: string[] }> {
  const ends: string[] = [];
  const session: DirectSession = directSession(keeping);
  session.attach({ onStream: () => {}, onClosed: (_, error) => void ends.push(String(error?.message)) });
  const streams = Array.from({ length: count }, () => session.openStream());
  const nothing = (): void => {};
  for (const stream of streams)
    stream.attach({
      onData: nothing,
      onEnd: nothing,
      onReset: nothing,
      onStopSending: nothing,
      onDrain: nothing,
      onClosed: nothing,
    });
  await vi.advanceTimersByTimeAsync(0);
  return { streams, ends };
}

function giveUp(streams: readonly DirectStream[]): void {
  for (const stream of streams) {
    stream.reset(1);
    stream.stopSending(1);
  }
}

it("streams that are given up at once send so much only as the peer has acknowledged", async () => {
  const keeping = new Keeping();
  const { streams, ends } = await opened(keeping, 2000);
  giveUp(streams);
  await vi.advanceTimersByTimeAsync(1000);
  expect([keeping.sent, keeping.probes]).toEqual([400, 1]);
  for (let trips = 0; trips < 20; trips++) {
    keeping.acknowledge();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect([keeping.sent, keeping.most, ends]).toEqual([4000, 400, []]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a few streams that are given up are followed by nothing", async () => {
  const keeping = new Keeping();
  const { streams } = await opened(keeping, 40);
  giveUp(streams);
  await vi.advanceTimersByTimeAsync(0);
  expect([keeping.sent, keeping.probes, vi.getTimerCount()]).toEqual([80, 0, 0]);
});

it("streams that have ended are not stopped any more", async () => {
  const keeping = new Keeping();
  const [stream] = (await opened(keeping, 1)).streams as [DirectStream];
  for (let times = 0; times < 500; times++) giveUp([stream]);
  await vi.advanceTimersByTimeAsync(0);
  expect([keeping.sent, keeping.probes]).toEqual([2, 0]);
});

it("aborts go on, slowly, where the peer allows no stream that would be acknowledged, or does not answer", async () => {
  const keeping = new Keeping();
  keeping.allowsProbes = false;
  const { streams } = await opened(keeping, 600);
  giveUp(streams);
  await vi.advanceTimersByTimeAsync(249);
  expect(keeping.sent).toBe(400);
  await vi.advanceTimersByTimeAsync(1);
  expect(keeping.sent).toBe(500);
  keeping.allowsProbes = true;
  await vi.advanceTimersByTimeAsync(250);
  expect(keeping.sent).toBe(900);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(keeping.sent).toBe(900);
  await vi.advanceTimersByTimeAsync(1);
  expect(keeping.sent).toBe(1200);
});

it("aborts go on where the peer gives no room for a stream", async () => {
  const keeping = new Keeping();
  keeping.isFull = true;
  const { streams } = await opened(keeping, 600);
  giveUp(streams);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(keeping.sent).toBe(400);
  await vi.advanceTimersByTimeAsync(1);
  expect(keeping.sent).toBe(500);
});

it("aborts that wait end with their session", async () => {
  const keeping = new Keeping();
  const { streams, ends } = await opened(keeping, 2000);
  giveUp(streams);
  keeping.fail(new Error("gone"));
  await vi.advanceTimersByTimeAsync(0);
  keeping.acknowledge();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([keeping.sent, ends, vi.getTimerCount()]).toEqual([400, ["gone"], 0]);
});
