import { RpcError } from "@quicrpc/core";
import { uncheckedCodec } from "@quicrpc/core/generated";
import { decodeWithin, MemoryBudget } from "@quicrpc/core/internal";
import { describe, expect, test } from "vitest";
import { protobufCodec } from "./codec.js";
import * as pb from "./generated.js";
import type { ReadMessage } from "./reader.js";

/** Reads `{ text: string = 1; sint: int64 = 2; list: repeated int32 = 3; inner: Node = 4 }`. */
const readNode: ReadMessage = (r, end, depth) => {
  pb.countFields(4);
  let text = "";
  let integer: number | bigint = 0;
  const list: number[] = [];
  let inner: number[] | undefined;
  while (r.position < end) {
    const tag = pb.readTag(r, end);
    if (tag === 10) text = pb.readString(r, end);
    else if (tag === 16) integer = pb.readInt(r, end);
    else if (tag === 24) pb.push(list, pb.readInt32(r, end));
    else if (tag === 26) pb.readPacked(r, end, pb.readInt32, list);
    else if (tag === 34) inner = pb.takePart(r, end, inner);
    else pb.skipField(r, tag, end, depth);
  }
  return { text, integer, list, inner: pb.readParts(r, inner, readNode, depth) };
};

const codec = protobufCodec(uncheckedCodec(), {
  name: "test.v1.Node",
  read: readNode,
  write: (_b, p) => p,
});

function decode(...bytes: number[]): unknown {
  return codec.decode(Uint8Array.from(bytes), 0, bytes.length);
}

const EMPTY = { text: "", integer: 0, list: [], inner: undefined };
const refused = new RpcError("invalid_argument", "the message is not a valid test.v1.Node");

describe("reading", () => {
  test("integers have up to ten bytes", () => {
    expect(decode(16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)).toEqual({ ...EMPTY, integer: -1 });
    expect(decode(16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1)).toEqual({
      ...EMPTY,
      integer: -(2n ** 63n),
    });
    // 32 bits are the lower ones of more.
    expect(decode(24, 0xff, 0xff, 0xff, 0xff, 0x7f)).toEqual({ ...EMPTY, list: [-1] });
    expect(() => decode(16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2)).toThrow(refused);
    expect(() => decode(16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)).toThrow(refused);
  });

  test("lists may be packed, or not, or both", () => {
    expect(decode(24, 1, 26, 2, 2, 3, 24, 4)).toEqual({ ...EMPTY, list: [1, 2, 3, 4] });
  });

  test("parts of a message are merged, and the last scalar counts", () => {
    expect(decode(34, 4, 16, 1, 24, 5, 10, 1, 97, 34, 4, 16, 2, 24, 6)).toEqual({
      ...EMPTY,
      text: "a",
      inner: { ...EMPTY, integer: 2, list: [5, 6] },
    });
  });

  test("unknown fields are dropped, groups and other wire types of known fields too", () => {
    expect(decode(11, 16, 1, 19, 20, 12, 13, 1, 2, 3, 4, 0xa2, 6, 1, 0)).toEqual(EMPTY);
  });

  test.each([
    ["a truncated tag", [0x80]],
    ["field number 0", [0, 1]],
    ["wire type 6", [14, 0]],
    ["the end of a group that has not begun", [12]],
    ["a group without an end", [11, 16, 1]],
    ["a group with the end of another", [11, 20]],
    ["a length beyond the end", [10, 5, 97]],
    ["a length beyond the message around it", [34, 2, 10, 3, 97, 97, 97]],
    ["a length of four gigabytes", [10, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ["a length of more than 32 bits", [10, 0x80, 0x80, 0x80, 0x80, 0x10]],
    ["packed numbers that end within one", [26, 1, 0x80]],
    ["text that is not UTF-8", [10, 1, 0xff]],
  ])("%s is refused", (_, bytes) => expect(() => decode(...bytes)).toThrow(refused));

  test("groups and messages that are nested too deeply are refused", () => {
    expect(() => decode(...Array.from({ length: 200 }, () => 11))).toThrow(refused);
    let message: number[] = [];
    for (let level = 0; level < 60; level++) message = [34, message.length, ...message];
    expect(decode(...message)).toMatchObject({ text: "" });
    for (let level = 0; level < 60; level++) {
      const { length } = message;
      message = [34, ...(length < 128 ? [length] : [(length & 127) | 128, length >> 7]), ...message];
    }
    expect(() => decode(...message)).toThrow(refused);
  });

  test("values are charged to the budget before they are made", () => {
    const bytes = Uint8Array.from([26, 0x90, 0x4e, ...Array.from({ length: 10_000 }, () => 1)]);
    const budget = new MemoryBudget(100_000, "maxSessionBytes");
    expect(() => decodeWithin(budget, codec, bytes, 0, bytes.length)).toThrow("a message of so many values");
  });
});

describe("writing", () => {
  const write = (value: unknown, how: (b: Uint8Array, p: number, value: unknown) => number): number[] => {
    const bytes = new Uint8Array(2000);
    return [...bytes.subarray(0, how(bytes, 0, value))];
  };

  test("negative integers have ten bytes", () => {
    const minusOne = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    expect(write(-1, pb.writeInt32)).toEqual(minusOne);
    expect(write(-1, pb.writeInt)).toEqual(minusOne);
    expect(write(-1n, pb.writeInt64)).toEqual(minusOne);
    expect(write(2 ** 53 - 1, pb.writeInt)).toEqual([255, 255, 255, 255, 255, 255, 255, 15]);
    expect(write(2n ** 64n - 1n, pb.writeUint64)).toEqual(minusOne);
  });

  test("lengths of more than one byte come before what was written", () => {
    const text = "x".repeat(300);
    expect(write(text, pb.writeString)).toEqual([0xac, 2, ...Array.from({ length: 300 }, () => 120)]);
  });

  test.each([
    ["a lone surrogate", "\ud800", pb.writeString],
    ["a number of more than 32 bits", 2 ** 31, pb.writeInt32],
    ["a bigint of more than 64 bits", 2n ** 63n, pb.writeInt64],
    ["a date before the year 1", new Date(-8e15), pb.writeTimestamp],
    ["a date in an any", new Date(0), (b: Uint8Array, p: number, value: unknown) => pb.writeAny(b, p, value, 9)],
  ])("%s is refused", (_, value, how) => expect(() => write(value, how)).toThrow("a value does not fit its schema"));
});
