import fc from "fast-check";
import { expect, it } from "vitest";
import type { ByteStreamHandler } from "./byte-stream.js";
import { CreditedStream } from "./credited-stream.js";
import type { WebTransportStream } from "./session.js";

const MIB = 1024 * 1024;

/** A pair of streams that hold nobody back, as those of `@fails-components/webtransport`. */
function endless(): [WebTransportStream, WebTransportStream] {
  const without = { highWaterMark: Number.POSITIVE_INFINITY };
  const there = new TransformStream<Uint8Array, Uint8Array>({}, without, without);
  const back = new TransformStream<Uint8Array, Uint8Array>({}, without, without);
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}

class Taker implements ByteStreamHandler {
  readonly events: string[] = [];
  readonly chunks: Uint8Array[] = [];

  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }

  onData(chunk: Uint8Array): void {
    this.chunks.push(chunk);
  }
  onDrain(): void {
    this.events.push("drain");
  }
  onEnd(): void {
    this.events.push("end");
  }
  onClosed(error: Error | undefined): void {
    this.events.push(`closed: ${error?.message}`);
  }
}

function attached(stream: WebTransportStream): { stream: CreditedStream; taker: Taker } {
  const taker = new Taker();
  const made = new CreditedStream(Promise.resolve(stream), () => taker.events.push("released"));
  made.attach(taker);
  return { stream: made, taker };
}

/** Everything that follows has happened. */
function settled(): Promise<void> {
  // oxlint-disable-next-line eslint/no-restricted-globals -- the next turn of the loop
  return new Promise((resolve) => setTimeout(resolve));
}

it("a receiver that takes nothing is sent 1 MiB, and the rest when it does", async () => {
  const [one, other] = endless();
  const [sender, receiver] = [attached(one), attached(other)];
  receiver.stream.pause();
  expect(sender.stream.write(new Uint8Array(MIB))).toBe(true);
  expect(sender.stream.write(new Uint8Array(3 * MIB))).toBe(false);
  await settled();
  expect(Reflect.get(sender.stream, "untaken")).toBe(MIB);
  expect(Reflect.get(receiver.stream, "unacknowledged")).toBe(MIB);
  expect(sender.taker.events).toEqual([]);
  receiver.stream.resume();
  await settled();
  expect(receiver.taker.bytes).toBe(4 * MIB);
  expect(sender.taker.events).toEqual(["drain"]);
});

it("what arrives before anybody attaches is held, and bounded", async () => {
  const [one, other] = endless();
  const sender = attached(one);
  const stream = new CreditedStream(Promise.resolve(other), () => {});
  expect(sender.stream.write(new Uint8Array(2 * MIB))).toBe(false);
  await settled();
  const taker = new Taker();
  stream.attach(taker);
  await settled();
  expect(taker.bytes).toBe(2 * MIB);
});

it.each([
  ["more than was allowed", [0x80, 0x10, 0x00, 0x01], "the peer sent more than 1048576 bytes beyond those taken"],
  ["an acknowledgement of what was not sent", [0, 5], "the peer took bytes that were not sent"],
  ["an acknowledgement of nothing", [0, 0], "the peer took bytes that were not sent"],
])("a peer that sends %s ends the stream", async (_, bytes, message) => {
  const [near, far] = endless();
  const { taker } = attached(near);
  await far.writable.getWriter().write(Uint8Array.from(bytes));
  await settled();
  expect(taker.events).toEqual(["released", `closed: ${message}`]);
});

it("an end within a chunk is no end", async () => {
  const [near, far] = endless();
  const { taker } = attached(near);
  const writer = far.writable.getWriter();
  await writer.write(Uint8Array.of(3, 1, 2));
  await writer.close();
  await settled();
  expect(taker.events).toEqual(["released", "closed: the stream ends within a chunk"]);
});

it("an end comes after what was written, and a peer's end lets go of what waits for it", async () => {
  const [one, other] = endless();
  const [ender, waiter] = [attached(one), attached(other)];
  ender.stream.pause();
  waiter.stream.write(new Uint8Array(3 * MIB));
  ender.stream.write(Uint8Array.of(7));
  ender.stream.end();
  await settled();
  expect(waiter.taker.chunks).toEqual([Uint8Array.of(7)]);
  expect(waiter.taker.events).toEqual(["drain", "end"]);
  waiter.stream.end();
  ender.stream.resume();
  await settled();
  expect(ender.taker.events).toEqual(["end"]);
});

it("bytes arrive as they were written, however they are cut", async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), async (written, cuts) => {
      const [near, far] = endless();
      const [between, receiver] = [endless(), endless()[0]];
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, out) {
          for (let at = 0; at < chunk.length; ) {
            const length = cuts.next().value;
            out.enqueue(chunk.slice(at, at + length));
            at += length;
          }
        },
      });
      void far.readable.pipeThrough(cut).pipeTo(between[0].writable);
      const sender = attached(near);
      const { taker } = attached({ readable: between[1].readable, writable: receiver.writable });
      for (const piece of written) sender.stream.write(piece);
      sender.stream.end();
      while (!taker.events.includes("end")) await settled();
      expect(taker.chunks.flatMap((chunk) => [...chunk])).toEqual(written.flatMap((piece) => [...piece]));
    }),
    { numRuns: 50 },
  );
});
