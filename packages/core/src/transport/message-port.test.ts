import { describe, expect, it } from "vitest";
import type { ByteStreamOptions } from "./byte-stream.js";
import { messagePortTransport, type MessagePortLike } from "./message-port.js";
import type { DirectSession } from "./session.js";

/** The near end of a port, and what the far end does there. */
class FakePort implements MessagePortLike {
  readonly sent: unknown[] = [];
  closed = false;
  private listener: ((event: Event) => void) | undefined;

  postMessage(message: unknown): void {
    this.sent.push(message);
  }

  addEventListener(type: string, listener: (event: Event) => void): void {
    if (type === "message") this.listener = listener;
  }

  close(): void {
    this.closed = true;
  }

  /** The peer posts something. */
  arrive(data: unknown): void {
    this.listener?.({ data } as unknown as Event);
  }
}

/** A session over `port`, how it ended, and what arrived on it. */
function sessionOver(
  port: FakePort,
  options?: ByteStreamOptions,
): { session: DirectSession; end: { error?: Error | undefined; reason?: string }; received: { bytes: number } } {
  const session = messagePortTransport(port, "server", options);
  const end: { error?: Error | undefined; reason?: string } = {};
  const received = { bytes: 0 };
  session.attach({
    onStream: () => {},
    onClosed: ({ reason }, error) => Object.assign(end, { error, reason }),
  });
  session.sole?.attach({
    onData: (chunk) => void (received.bytes += chunk.length),
    onEnd: () => {},
    onReset: () => {},
    onStopSending: () => {},
    onDrain: () => {},
    onClosed: () => {},
  });
  return { session, end, received };
}

describe("a MessagePort", () => {
  it("whose peer sends on although nothing is taken is given up at maxHeldBytes", () => {
    const port = new FakePort();
    const { session, end, received } = sessionOver(port, { maxHeldBytes: 1_000_000 });
    session.sole?.pause();
    for (let i = 0; i < 15; i++) port.arrive(new Uint8Array(65_536));
    expect(end).toEqual({});
    port.arrive(new Uint8Array(65_536));
    expect(end.error?.message).toContain("maxHeldBytes");
    expect(port.closed).toBe(true);
    expect(received.bytes).toBe(0);
  });

  it("delivers what was held up to there", () => {
    const port = new FakePort();
    const { session, end, received } = sessionOver(port, { maxHeldBytes: 1_000_000 });
    session.sole?.pause();
    for (let i = 0; i < 15; i++) port.arrive(new Uint8Array(65_536));
    session.sole?.resume();
    expect(received.bytes).toBe(15 * 65_536);
    for (let i = 0; i < 100; i++) port.arrive(new Uint8Array(65_536));
    expect(received.bytes).toBe(115 * 65_536);
    expect(end).toEqual({});
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 101])(
    "whose peer says that it took %s bytes of 100 is given up",
    (bytes) => {
      const port = new FakePort();
      const { session, end } = sessionOver(port);
      session.sole?.write(new Uint8Array(100), false);
      expect(session.sole?.pendingBytes()).toBe(100);
      port.arrive(bytes);
      expect(end.error?.message).toContain("took");
      expect(port.closed).toBe(true);
    },
  );

  it("whose peer takes what was sent has nothing that waits", () => {
    const port = new FakePort();
    const { session, end } = sessionOver(port);
    session.sole?.write(new Uint8Array(100), false);
    port.arrive(60);
    expect(session.sole?.pendingBytes()).toBe(40);
    port.arrive(40);
    expect(session.sole?.pendingBytes()).toBe(0);
    expect(end).toEqual({});
  });
});
