import { RpcError } from "@quicrpc/core";
import { encode } from "cbor-x";
import { describe, expect, it } from "vitest";
import { cbor } from "./cbor.js";

/** A header of CBOR with a length of four bytes. */
function header(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = (type << 5) | 26;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

const MIB = 1 << 20;
const attacks: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["4 MiB of empty maps", Buffer.concat([header(4, 4 * MIB), Buffer.alloc(4 * MIB, 0xa0)])],
  ["4 MiB of empty maps in an array without a length", Buffer.concat([Buffer.of(0x9f), Buffer.alloc(4 * MIB, 0xa0)])],
  ["4 MiB of nested arrays", Buffer.alloc(4 * MIB, 0x81)],
  ["4 MiB of nested tags", Buffer.alloc(4 * MIB, 0xc1)],
  ["an integer of 1 MiB", Buffer.concat([Buffer.of(0xc2), header(2, MIB), Buffer.alloc(MIB, 0xff)])],
  [
    "an integer in pieces",
    Buffer.concat([Buffer.of(0xc3, 0x5f), header(2, MIB), Buffer.alloc(MIB, 0xff), Buffer.of(0xff)]),
  ],
  [
    "a tag within the tag of an integer",
    Buffer.concat([Buffer.of(0xc2, 0xc2), header(2, MIB), Buffer.alloc(MIB, 0xff)]),
  ],
  ["an array longer than the message", header(4, 2 ** 32 - 1)],
  ["a text longer than the message", header(3, 2 ** 32 - 1)],
  ["a table of packed values", Buffer.of(0xd8, 51, 0x80)],
  [
    "objects with a large number as their key",
    Buffer.concat([header(4, 16_666), Buffer.alloc(16_666 * 5, "a11903e801", "hex")]),
  ],
  ["a regular expression", Buffer.of(0xd8, 27, 0x82, 0x66, 0x52, 0x65, 0x67, 0x45, 0x78, 0x70, 0x61, 0x61)],
];

describe("CBOR of a stranger", () => {
  it.each(attacks)("%s is refused before it is decoded", (_, bytes) => {
    expect(() => cbor.decode(bytes, 0, bytes.length)).toThrow(RpcError);
  });

  it("cut anywhere is refused or read, and never anything else", () => {
    const whole = encode({ text: "text", bytes: new Uint8Array(300), list: [1, 2n ** 70n, new Date(0), null, 1.5] });
    for (let end = 0; end < whole.length; end++) {
      try {
        cbor.decode(whole, 0, end);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  });
});

it.each([
  [{ a: 1, b: [true, false, null, undefined], c: { d: "text" } }],
  [[0, -1, 23, 24, 255, 256, 65_536, 2 ** 40, -(2 ** 40), 1.5, Number.NaN]],
  [new Date(1_700_000_000_000)],
  [[2n ** 64n - 1n, -(2n ** 64n), 2n ** 2000n]],
  [new Set([1, "two"])],
  [new Map<unknown, unknown>([[1, "one"]])],
  ["t".repeat(1_000_000)],
  [Array.from({ length: 9_000 }, (_, i) => i)],
])("what was encoded is decoded", (value) => {
  const bytes = encode(value);
  expect(cbor.decode(bytes, 0, bytes.length)).toEqual(value);
});
