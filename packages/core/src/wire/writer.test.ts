import { describe, expect, it } from "vitest";
import { readVarint } from "./varint.js";
import { FrameWriter } from "./writer.js";

function fill(writer: FrameWriter, bytes: number): void {
  const mark = writer.begin(1, 0);
  writer.bytes(new Uint8Array(bytes));
  writer.commit(mark);
}

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
    writer.abandon(writer.begin(1, 0));
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
      const mark = writer.begin(1, 0);
      writer.bytes(new Uint8Array(size));
      const [open, bytes] = [writer.sizeSince(mark), writer.commit(mark)];
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
