import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startVirtualTime } from "../../../test/virtual-time.js";
import { MemoryBudget } from "../../memory-budget.js";
import type { Channel, Traffic } from "../../transport/channel.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import type { CallChannel } from "../carrier.js";
import { LaneReceiveFlow } from "./lane-flow.js";

const FRAME = 32 * 1024;
const MAX_WINDOW = 2 * 1024 * 1024;
const SESSION_BYTES = 32 * 1024 * 1024;

/** A simulated sender that sends frames while it has credit, with the flow control of its receiver. */
class Stream {
  readonly flow: LaneReceiveFlow;
  unread = 0;
  private credit = INITIAL_CREDIT;

  constructor(traffic: Traffic, maxBytes = SESSION_BYTES) {
    const channel = {
      traffic,
      budget: new MemoryBudget(maxBytes, "maxSessionBytes"),
      frame: (_type: number, _id: number, write: (out: { varint(bytes: number): void }) => void): void =>
        write({ varint: (bytes) => (this.credit += bytes) }),
    };
    this.flow = new LaneReceiveFlow({ channel: channel as unknown as Channel } as CallChannel, 0);
  }

  /** Sends frames until the credit is used up. Returns the number of bytes sent. */
  send(): number {
    let sent = 0;
    for (; this.credit > 0; sent += FRAME) {
      this.credit -= FRAME;
      this.flow.received(FRAME);
    }
    this.unread += sent;
    return sent;
  }

  read(bytes = this.unread): void {
    for (let left = bytes; left > 0; left -= FRAME) {
      this.unread -= FRAME;
      this.flow.consumed(FRAME);
    }
  }
}

beforeEach(startVirtualTime);
afterEach(() => void vi.useRealTimers());

const traffic = (): Traffic => ({ extraCredit: 0 });

describe("credit of a stream on a lane", () => {
  it("doubles up to 2 MiB while a window is read within a quarter of a second", () => {
    const stream = new Stream(traffic());
    expect(stream.send()).toBe(INITIAL_CREDIT);
    for (let trip = 0; trip < 20; trip++) {
      vi.advanceTimersByTime(100);
      stream.read();
      stream.send();
    }
    expect(stream.unread).toBe(MAX_WINDOW);
  });

  it("stays as it is where a window takes longer to be read", () => {
    const stream = new Stream(traffic());
    stream.send();
    for (let trip = 0; trip < 20; trip++) {
      vi.advanceTimersByTime(300);
      stream.read();
      stream.send();
    }
    expect(stream.unread).toBe(INITIAL_CREDIT);
  });

  it("stays as it is where the reader leaves most of it unread", () => {
    const stream = new Stream(traffic());
    for (let frame = 0; frame < 500; frame++) {
      stream.send();
      stream.read(FRAME);
    }
    stream.send();
    expect(stream.unread).toBe(INITIAL_CREDIT);
  });

  it("grows by an eighth of a session's memory for all its streams, and is given back when a stream ends", () => {
    const shared = traffic();
    const streams = Array.from({ length: 8 }, () => new Stream(shared));
    const readAll = (): void => {
      for (let trip = 0; trip < 20; trip++)
        for (const stream of streams) {
          stream.send();
          stream.read();
        }
    };
    readAll();
    expect(shared.extraCredit).toBeGreaterThan(0);
    expect(shared.extraCredit).toBeLessThanOrEqual(SESSION_BYTES / 8);
    for (const { flow } of streams) {
      flow.end();
      flow.end();
    }
    expect(shared.extraCredit).toBe(0);
  });

  it("is never more than the window, whatever is read and when, and never ends while there is something to send", () => {
    const step = fc.record({ wait: fc.nat(400), frames: fc.nat(64) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const stream = new Stream(traffic());
        for (const { wait, frames } of steps) {
          stream.send();
          expect(stream.unread).toBeGreaterThan(INITIAL_CREDIT / 4);
          expect(stream.unread).toBeLessThanOrEqual(MAX_WINDOW);
          vi.advanceTimersByTime(wait);
          stream.read(Math.min(stream.unread, frames * FRAME));
        }
        stream.read();
        expect(stream.send()).toBeGreaterThan(0);
      }),
    );
  });
});
