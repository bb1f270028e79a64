import type { MessageCodec } from "@quicrpc/core/generated";
import { describe, expect, it } from "vitest";
import { encodeMessage } from "./message.js";

const LIMIT = 1_000_000;

/** Writes a byte so many times. */
const filled: MessageCodec<{ readonly byte: number; readonly times: number }> = {
  encode({ byte, times }, out) {
    out.reserve(times);
    out.buffer.fill(byte, out.position, out.position + times);
    out.position += times;
  },
  decode: () => ({ byte: 0, times: 0 }),
};

const of = (byte: number, times: number): Uint8Array => encodeMessage(filled, { byte, times }, LIMIT);

describe("encodeMessage", () => {
  it.each([0, 1, 4096, 4097, 100_000])("returns %d bytes, which later messages leave as they are", (times) => {
    const first = of(1, times);
    of(2, 200_000);
    of(3, 10);
    expect(first).toEqual(new Uint8Array(times).fill(1));
  });

  it("may be called by a codec that it calls", () => {
    const nested: MessageCodec<unknown> = {
      encode(_, out) {
        filled.encode({ byte: 1, times: 3 }, out);
        expect(of(2, 8)).toEqual(new Uint8Array(8).fill(2));
        filled.encode({ byte: 3, times: 3 }, out);
      },
      decode: () => undefined,
    };
    expect([...encodeMessage(nested, undefined, LIMIT)]).toEqual([1, 1, 1, 3, 3, 3]);
  });

  it("refuses more than the limit, and goes on", () => {
    expect(() => encodeMessage(filled, { byte: 1, times: 11 }, 10)).toThrow("10 bytes");
    expect(of(4, 2)).toEqual(Uint8Array.of(4, 4));
  });
});
