import { describe, expect, it } from "vitest";
import * as FrameType from "./frame-type.js";
import { readVarint } from "./cursor.js";
import { FrameWriter } from "./writer.js";

function fail(): never {
  throw new Error("in the body");
}

function fill(writer: FrameWriter, bytes: number): void {
  writer.frame(1, 0, () => writer.bytes(new Uint8Array(bytes)));
}

const types: readonly (readonly [name: string, type: number])[] = Object.entries(FrameType);

describe.each(types)("a frame of type %s whose body throws", (_, type) => {
  it.each([
    ["at once", 0],
    ["after some bytes", 10],
    ["after more bytes than the buffer has", 100_000],
  ])("%s leaves the writer as it was", (_when, size) => {
    for (const before of [[], [3, 70_000], [70_000]]) {
      const [failing, other] = [new FrameWriter(16), new FrameWriter(16)];
      for (const writer of [failing, other]) for (const length of before) fill(writer, length);
      const broken = (out: FrameWriter, mark: number): void => {
        out.bytes(new Uint8Array(size));
        out.flag(mark, 0x20);
        fail();
      };
      expect(() => failing.frame(type, 5, broken)).toThrow("in the body");
      expect(failing.idle).toBe(true);
      expect(Buffer.compare(failing.written(), other.written())).toBe(0);
      for (const writer of [failing, other]) fill(writer, 7);
      expect(Buffer.compare(failing.written(), other.written())).toBe(0);
    }
  });
});

it("a frame within a frame is refused, and both are taken back", () => {
  const writer = new FrameWriter(16);
  const nested = (): unknown => writer.frame(1, 0, () => {});
  expect(() => writer.frame(1, 0, nested)).toThrow("while another");
  writer.frame(6, 0, () => {});
  expect([...writer.written()]).toEqual([0x40, 2, 6, 0]);
});

it("a frame within a frame is refused, and the outer one goes on", () => {
  const writer = new FrameWriter(16);
  writer.frame(6, 0, () => {
    expect(() => writer.frame(1, 0, () => {})).toThrow("while another");
    writer.byte(9);
  });
  expect([...writer.written()]).toEqual([0x40, 3, 6, 0, 9]);
});

describe("a writer without a buffer of its own", () => {
  it("has none while it holds nothing", () => {
    const writer = new FrameWriter();
    expect(writer.buffer.length).toBe(0);
    fill(writer, 10);
    expect(writer.buffer.length).toBeGreaterThan(10);
    writer.clear();
    expect(writer.buffer.length).toBe(0);
  });

  it("gets back the buffer that it has grown, and so does the next", () => {
    const writer = new FrameWriter();
    fill(writer, 20_000);
    const grown = writer.buffer;
    writer.clear();
    const other = new FrameWriter();
    fill(other, 10);
    expect(other.buffer).toBe(grown);
    other.clear();
  });

  it("shares it with nobody while it holds something", () => {
    const writers = Array.from({ length: 3 }, () => new FrameWriter());
    for (const writer of writers) fill(writer, 10);
    expect(new Set(writers.map(({ buffer }) => buffer)).size).toBe(3);
    for (const writer of writers) writer.clear();
  });

  it("lets go of it when its only frame is taken back", () => {
    const writer = new FrameWriter();
    expect(() => writer.frame(1, 0, fail)).toThrow("in the body");
    expect(writer.buffer.length).toBe(0);
  });

  it("does not leave the buffer of a huge burst to the next", () => {
    const writer = new FrameWriter();
    fill(writer, 1024 * 1024);
    writer.clear();
    fill(writer, 10);
    expect(writer.buffer.length).toBeLessThanOrEqual(256 * 1024);
    writer.clear();
  });

  it("writes the frames it would write in its own", () => {
    const [borrowing, owning] = [new FrameWriter(), new FrameWriter(16)];
    for (const writer of [borrowing, owning]) for (const size of [0, 3, 500, 70_000]) fill(writer, size);
    expect(borrowing.written()).toEqual(owning.written());
    borrowing.clear();
  });
});

describe("the length of a frame", () => {
  const lengthsAfter = (...sizes: number[]): number[] => {
    const writer = new FrameWriter(16);
    return sizes.map((size) => {
      const mark = writer.position;
      let open = 0;
      const bytes = writer.frame(1, 0, () => {
        writer.bytes(new Uint8Array(size));
        open = writer.sizeSince(mark);
      });
      expect(bytes).toBe(writer.position - mark);
      expect(open - bytes).toBe(bytes - size === 4 ? 2 : 0);
      expect(readVarint(writer.buffer, mark)).toBe(size + 2);
      return bytes - size - 2;
    });
  };

  it("is in four bytes where two do not hold it, and in the frame after that", () => {
    expect(lengthsAfter(10, 16_381, 16_382, 70_000, 10, 10)).toEqual([2, 2, 4, 4, 4, 2]);
  });
});
