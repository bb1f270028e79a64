import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DirectStream, WebTransportSession, WebTransportStream } from "./session.js";
import { directSession } from "./web-session.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A session as Chromium's: what the peer's limit does not allow fails. */
class Limited {
  allowed = 0;
  made = 0;
  most = 0;
  /** The first byte of each chunk. */
  readonly written: number[] = [];
  readonly sinks: { readonly sendOrder: number }[] = [];
  readonly receiving: ReadableStreamDefaultController[] = [];
  private pending = 0;
  fail!: (error: Error) => void;
  readonly ready: Promise<void> = Promise.resolve();
  readonly closed: Promise<undefined> = new Promise((_, reject) => {
    this.fail = reject;
  });
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportStream> = new ReadableStream();

  close(): void {}

  async createBidirectionalStream(): Promise<WebTransportStream> {
    this.most = Math.max(this.most, ++this.pending);
    await Promise.resolve();
    this.pending--;
    if (this.made >= this.allowed) throw new DOMException("Failed to create bidirectional stream.", "NetworkError");
    this.made++;
    const readable = new ReadableStream({ start: (receiving) => void this.receiving.push(receiving) });
    const stream = { readable, writable: this.sink() };
    this.sinks.push(Object.assign(stream.writable, { sendOrder: 0 }));
    return stream;
  }

  private sink(): WritableStream<Uint8Array> {
    return new WritableStream({ write: ([first = -1]) => void this.written.push(first) });
  }
}

function opened(limited: Limited, count: number): { streams: DirectStream[]; events: string[] } {
  const events: string[] = [];
  const session = directSession(limited satisfies WebTransportSession);
  session.attach({ onStream: () => {}, onClosed: (_, error) => void events.push(`session ${error?.message}`) });
  const streams = Array.from({ length: count }, () => session.openStream());
  for (const stream of streams) {
    stream.attach({
      onData: () => {},
      onEnd: () => {},
      onReset: (code) => void events.push(`reset ${code}`),
      onStopSending: () => {},
      onDrain: () => void events.push("drain"),
      onClosed: (error) => void events.push(`closed ${error?.message}`),
    });
  }
  return { streams, events };
}

it("C65 streams beyond the peer's limit wait for it, few of them at a time", async () => {
  const limited = new Limited();
  const { events } = opened(limited, 1000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(limited.made).toBe(0);
  limited.allowed = 1000;
  await vi.advanceTimersByTimeAsync(1000);
  expect(limited.made).toBe(1000);
  expect(limited.most).toBeLessThanOrEqual(32);
  expect(events).toEqual([]);
});

it("C65 streams that wait are made in the order they were asked for, late ones last", async () => {
  const limited = new Limited();
  const { streams } = opened(limited, 50);
  for (const [i, stream] of streams.entries()) stream.write(new Uint8Array([i]));
  for (limited.allowed = 1; limited.allowed <= 50; limited.allowed += 7) await vi.advanceTimersByTimeAsync(130);
  await vi.advanceTimersByTimeAsync(1000);
  expect(limited.written).toEqual(Array.from({ length: 50 }, (_, i) => i));
});

it("streams that are given up while they wait are not made", async () => {
  const limited = new Limited();
  const { streams, events } = opened(limited, 100);
  await vi.advanceTimersByTimeAsync(100);
  for (const [i, stream] of streams.entries()) {
    stream.write(new Uint8Array([i]));
    if (i === 70) continue;
    stream.reset(2);
    stream.stopSending(2);
  }
  limited.allowed = 100;
  await vi.advanceTimersByTimeAsync(1000);
  expect(limited.made).toBe(1);
  expect(limited.written).toEqual([70]);
  expect(events).toEqual([]);
});

it("streams that wait end with their session", async () => {
  const limited = new Limited();
  const { events } = opened(limited, 100);
  limited.fail(new Error("gone"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(events).toEqual([...Array.from({ length: 100 }, () => "closed gone"), "session gone"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("what is written around the moment a stream opens keeps its order", async () => {
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) await Promise.resolve();
  };
  for (let count = 0; count < 16; count++) {
    const limited = new Limited();
    limited.allowed = 1;
    // In each turn of the microtasks the first writes, then the stream may open, and then the second writes.
    void turns(count).then(() => stream?.write(new Uint8Array([0])));
    const [stream] = opened(limited, 1).streams;
    void turns(count).then(() => stream?.write(new Uint8Array([1])));
    await vi.advanceTimersByTimeAsync(1);
    expect(limited.written, `after ${count} microtasks`).toEqual([0, 1]);
  }
});

it("what is written before a stream is open is bounded", async () => {
  const limited = new Limited();
  const { streams, events } = opened(limited, 1);
  const [stream] = streams as [DirectStream];
  expect(stream.write(new Uint8Array(10_000))).toBe(true);
  expect(stream.write(new Uint8Array(100_000))).toBe(false);
  await vi.advanceTimersByTimeAsync(1000);
  expect(events).toEqual([]);
  limited.allowed = 1;
  await vi.advanceTimersByTimeAsync(1000);
  expect(events).toEqual(["drain"]);
});

it("priorities are the sendOrder of the platform's streams, whether they are open or not", async () => {
  const limited = new Limited();
  limited.allowed = 2;
  const { streams } = opened(limited, 2);
  streams[0]?.setPriority?.(5);
  await vi.advanceTimersByTimeAsync(0);
  streams[1]?.setPriority?.(-1);
  expect(limited.sinks.map(({ sendOrder }) => sendOrder)).toEqual([5, -1]);
});

it.each([null, 20])(
  "C63 streams that fail because of their session end with it, and its reason: code %s",
  async (code) => {
    const limited = new Limited();
    limited.allowed = 1;
    const { events } = opened(limited, 1);
    await vi.advanceTimersByTimeAsync(0);
    limited.receiving[0]?.error(Object.assign(new Error("lost"), { source: "session", streamErrorCode: code }));
    await vi.advanceTimersByTimeAsync(100);
    expect(events).toEqual([]);
    limited.fail(new Error("gone"));
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toEqual(["closed gone", "session gone"]);
  },
);

it("C63 streams and datagrams that are read after the session's end are none of it", async () => {
  const limited = new Limited();
  let streams!: ReadableStreamDefaultController<WebTransportStream>;
  let datagrams!: ReadableStreamDefaultController<Uint8Array>;
  const incomingBidirectionalStreams = new ReadableStream<WebTransportStream>({
    start: (controller) => void (streams = controller),
  });
  const readable = new ReadableStream<Uint8Array>({ start: (controller) => void (datagrams = controller) });
  const events: string[] = [];
  const session = Object.assign(limited, {
    incomingBidirectionalStreams,
    datagrams: { readable, maxDatagramSize: 1200 },
  });
  directSession(session).attach({
    onStream: () => void events.push("stream"),
    onDatagram: () => void events.push("datagram"),
    onClosed: () => void events.push("closed"),
  });
  const arrive = async (): Promise<void> => {
    streams.enqueue({ readable: new ReadableStream(), writable: new WritableStream() });
    datagrams.enqueue(Uint8Array.of(1));
    await vi.advanceTimersByTimeAsync(10);
  };
  await arrive();
  limited.fail(new Error("lost"));
  await vi.advanceTimersByTimeAsync(10);
  await arrive();
  expect(events).toEqual(["stream", "datagram", "closed"]);
});
