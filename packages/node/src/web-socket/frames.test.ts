import type { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as ws from "ws";
import { FrameError, WebSocketFrameReader, headBytes, Opcode, putFrame } from "./frames.js";
import { applyMask } from "./mask.js";

/** Receiver and sender of the package `ws`. */
const { Receiver, Sender } = ws as unknown as {
  Receiver: new (options: object) => Writable;
  Sender: { frame(payload: Uint8Array, options: object): Buffer[] };
};

/** Returns a frame as `putFrame` writes it. */
function frameOf(opcode: number, payload: Uint8Array, key?: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(headBytes(payload.length, key !== undefined) + payload.length);
  putFrame(bytes, opcode, payload, key);
  return bytes;
}

const LIMIT = 1000;

/** Reads chunks. Returns the bytes of all messages, and each other event with the number of message bytes before it. */
function readAll(
  chunks: readonly Uint8Array[],
  masked: boolean,
  maxMessage = LIMIT,
): { bytes: string; events: string[] } {
  const events: string[] = [];
  const pieces: Uint8Array[] = [];
  const at = (): number => pieces.reduce((sum, { length }) => sum + length, 0);
  const handler = {
    onPiece: (piece: Uint8Array) => void pieces.push(piece.slice()),
    onPing: (payload: Uint8Array) => void events.push(`${at()} ping ${Buffer.from(payload).toString("hex")}`),
    onClose: (code: number, reason: string) => void events.push(`${at()} close ${code} ${reason}`),
  };
  const reader = new WebSocketFrameReader(handler, masked, maxMessage);
  for (const chunk of chunks) {
    try {
      expect(reader.read(chunk.slice())).toBe(chunk.length);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      events.push(`${at()} error ${error.code} ${error.message}`);
    }
  }
  return { bytes: Buffer.concat(pieces).toString("hex"), events };
}

/** Cuts bytes into chunks at these positions. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

const bytesOf = (max: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength: max });
const key = fc.option(fc.uint8Array({ minLength: 4, maxLength: 4 }), { nil: undefined });
const step = fc.oneof(
  fc.record({ opcode: fc.constant<number>(Opcode.binary), payload: bytesOf(400) }),
  fc.record({ opcode: fc.constantFrom<number>(Opcode.ping, Opcode.pong), payload: bytesOf(125) }),
);

describe("frames of a WebSocket", () => {
  it("are read as they were written, wherever they are cut", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 8 }),
        key,
        fc.array(fc.nat(5000), { maxLength: 12 }),
        (steps, mask, places) => {
          const all = Buffer.concat(steps.map(({ opcode, payload }) => frameOf(opcode, payload, mask)));
          const { bytes, events } = readAll(cut(all, places), mask !== undefined);
          const sent = steps.filter(({ opcode }) => opcode === Opcode.binary).map(({ payload }) => payload);
          expect(bytes).toBe(Buffer.concat(sent).toString("hex"));
          expect(events.map((event) => event.replace(/^\d+ /, ""))).toEqual(
            steps
              .filter(({ opcode }) => opcode === Opcode.ping)
              .map(({ payload }) => `ping ${Buffer.from(payload).toString("hex")}`),
          );
        },
      ),
    );
  });

  it("any bytes mean the same in one chunk and in many, and messages are never longer than what came", () => {
    fc.assert(
      fc.property(bytesOf(300), fc.boolean(), fc.array(fc.nat(300), { maxLength: 12 }), (any, masked, places) => {
        const whole = readAll([any], masked);
        expect(readAll(cut(any, places), masked)).toEqual(whole);
        expect(whole.bytes.length / 2).toBeLessThanOrEqual(any.length);
      }),
      { numRuns: 1000 },
    );
  });

  it("are those that the ws package reads", async () => {
    for (const length of [0, 1, 125, 126, 0xffff, 0x10000, 300_000]) {
      const payload = Uint8Array.from({ length }, (_, i) => i % 251);
      const receiver = new Receiver({ isServer: true, maxPayload: 1 << 20 });
      const message = new Promise<Buffer>((resolve) => receiver.once("message", resolve));
      receiver.write(frameOf(Opcode.binary, payload, Uint8Array.of(1, 2, 3, 255)));
      expect(Buffer.compare(await message, payload)).toBe(0);
    }
  });

  it("that the ws package writes are read", () => {
    for (const length of [0, 1, 125, 126, 0xffff, 0x10000, 300_000]) {
      const payload = Buffer.from(Uint8Array.from({ length }, (_, i) => i % 251));
      const frame = Sender.frame(payload, { fin: true, opcode: 2, mask: true, readOnly: true, rsv1: false });
      expect(readAll(frame, true, 1 << 20)).toEqual({ bytes: payload.toString("hex"), events: [] });
    }
  });

  it("come with control frames between the fragments of a message", () => {
    const parts = [
      [0x02, 0x02, 1, 2],
      [0x89, 0x01, 7],
      [0x00, 0x01, 3],
      [0x8a, 0x00],
      [0x80, 0x01, 4],
      [0x88, 0x04, 0x03, 0xe8, 0x6f, 0x6b],
    ];
    expect(readAll([Uint8Array.from(parts.flat())], false)).toEqual({
      bytes: "01020304",
      events: ["2 ping 07", "4 close 1000 ok"],
    });
  });

  it("are passed over after a close frame", () => {
    expect(readAll([Uint8Array.of(0x88, 0x00, 0x82, 0x01, 9)], false)).toEqual({
      bytes: "",
      events: ["0 close 1005 "],
    });
  });

  it("are not read while the reader is stopped, and go on where it was", () => {
    const pieces: string[] = [];
    const handler = {
      onPiece(piece: Uint8Array) {
        pieces.push(Buffer.from(piece).toString("hex"));
        reader.stopped = true;
      },
      onPing: () => {},
      onClose: () => {},
    };
    const reader = new WebSocketFrameReader(handler, false, LIMIT);
    const chunk = Uint8Array.of(0x82, 0x01, 1, 0x82, 0x02, 2, 3);
    expect(reader.read(chunk)).toBe(3);
    expect(reader.read(chunk.subarray(3))).toBe(0);
    reader.stopped = false;
    expect(reader.read(chunk.subarray(3))).toBe(4);
    expect(pieces).toEqual(["01", "0203"]);
  });

  const mask = [0x80, 0, 0, 0, 0];
  it.each([
    ["a bit that no extension was agreed on for", false, [0xc2, 0], 1002],
    ["a client's frame without a mask", true, [0x82, 0], 1002],
    ["a server's frame with a mask", false, [0x82, ...mask], 1002],
    ["a text message", false, [0x81, 0], 1003],
    ["an unknown kind", false, [0x83, 0], 1002],
    ["an unknown kind of control frame", false, [0x8b, 0], 1002],
    ["a control frame in fragments", false, [0x09, 0], 1002],
    ["a control frame of 126 bytes", false, [0x89, 126, 0, 126], 1002],
    ["a fragment of no message", false, [0x80, 0], 1002],
    ["a message within another", false, [0x02, 0, 0x82, 0], 1002],
    ["a length of 16 bits that fits 7", false, [0x82, 126, 0, 125], 1002],
    ["a length of 64 bits that fits 16", false, [0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], 1002],
    ["a message that is longer than may be, before its bytes", false, [0x82, 126, 0x03, 0xe9], 1009],
    ["the longest length there is", false, [0x82, 127, ...Array.from({ length: 8 }, () => 0xff)], 1009],
    ["a close frame with half a code", false, [0x88, 1, 3], 1002],
    ["a close frame with a code that is none", false, [0x88, 2, 0x03, 0xee], 1002],
    ["a reason that is no UTF-8", false, [0x88, 3, 0x03, 0xe8, 0xff], 1007],
  ])("are refused for %s", (_, masked, bytes, code) => {
    const { bytes: read, events } = readAll([Uint8Array.from(bytes), Uint8Array.of(0x82, 0x01, 9)], masked);
    expect(read).toBe("");
    expect(events).toEqual([expect.stringContaining(`0 error ${code} `)]);
  });

  it("are refused for a message that grows by fragments beyond what it may be", () => {
    const fragments = [0x02, 0x00].map((first) => [first, 126, 0x01, 0xf4, ...new Uint8Array(500)]);
    const { bytes, events } = readAll([Uint8Array.from([...fragments.flat(), 0x80, 1, 1])], false);
    expect(bytes.length / 2).toBe(LIMIT);
    expect(events).toEqual([`${LIMIT} error 1009 a message is longer than ${LIMIT} bytes`]);
  });

  it("have these bytes when they are masked", () => {
    const key = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
    // RFC 6455 §5.7.
    const hello = frameOf(Opcode.text, Buffer.from("Hello"), key);
    expect(Buffer.from(hello).toString("hex")).toBe("818537fa213d7f9f4d5158");
    const long = frameOf(
      Opcode.binary,
      Uint8Array.from({ length: 150 }, (_, i) => i),
      key,
    );
    expect(Buffer.from(long).toString("hex")).toBe(
      "82fe009637fa213d37fb233e33ff273a3ff32b363bf72f3227eb332e23ef372a2fe33b262be73f2217db031e13df071a" +
        "1fd30b161bd70f1207cb130e03cf170a0fc31b060bc71f0277bb637e73bf677a7fb36b767bb76f7267ab736e63af776a" +
        "6fa37b666ba77f62579b435e539f475a5f934b565b974f52478b534e438f574a4f835b464b875f42b77ba3beb37fa7ba" +
        "bf73abb6bb77afb2a76bb3aea36f",
    );
  });

  it("are masked alike in vectors and in bytes, at any place in memory", () => {
    const lengths = fc.oneof(fc.nat(600), fc.integer({ min: 65_500, max: 65_600 }), fc.nat(200_000));
    fc.assert(
      fc.property(
        lengths.map((length) => Uint8Array.from({ length }, (_, i) => (i * 31) & 0xff)),
        fc.uint8Array({ minLength: 4, maxLength: 4 }),
        fc.nat(7),
        fc.nat(9),
        (data, mask, offset, shift) => {
          const masked = new Uint8Array(data.length + shift).subarray(shift);
          masked.set(data);
          applyMask(masked, mask, offset);
          expect(
            Buffer.compare(
              masked,
              data.map((byte, i) => byte ^ Number(mask.at((offset + i) % 4))),
            ),
          ).toBe(0);
        },
      ),
    );
  });
});
