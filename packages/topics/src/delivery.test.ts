import { describe, expect, it } from "vitest";
import { appendBytes } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { pack, unpack } from "@quicrpc/core/internal";
import { loggedItem } from "./delivery.js";

const codec = (): MessageCodec<unknown> => ({
  encode: (value, out) => appendBytes(out, pack(value)),
  decode: (bytes, start, end) => unpack(bytes, start, end),
});

describe("loggedItem", () => {
  const bytes = pack({ message: 1 });
  const one = codec();

  it("shares the item of a message", () => {
    expect(loggedItem(one, bytes, "a-1")).toBe(loggedItem(one, bytes, "a-1"));
  });

  it("keeps messages apart whose log stores equal bytes once", () => {
    const first = loggedItem(one, bytes, "a-1");
    expect([first.position, loggedItem(one, bytes, "a-2").position]).toEqual(["a-1", "a-2"]);
  });

  it("keeps apart what different codecs decode", () => {
    const first = loggedItem(one, bytes, "a-1");
    expect(loggedItem(codec(), bytes, "a-1")).not.toBe(first);
  });
});
