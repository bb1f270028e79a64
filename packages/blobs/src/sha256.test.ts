import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createSha256, PortableSha256 } from "./sha256.js";

const pieces = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 12 });
const nodes = (bytes: readonly Uint8Array[]): string => createHash("sha256").update(Buffer.concat(bytes)).digest("hex");

it.each([
  ["of this platform", createSha256],
  ["without a platform's", () => new PortableSha256()],
])("is SHA-256 however the bytes come, and a copy goes on by itself: %s", (_, create) => {
  fc.assert(
    fc.property(pieces, pieces, (first, second) => {
      const hash = create();
      for (const bytes of first) hash.update(bytes);
      const copy = hash.copy();
      for (const bytes of second) hash.update(bytes);
      expect(copy.hex()).toBe(nodes(first));
      expect(hash.hex()).toBe(nodes([...first, ...second]));
    }),
  );
});

it("pads messages of every length around a block", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = new Uint8Array(length).fill(length);
    const hash = new PortableSha256();
    hash.update(bytes);
    expect(hash.hex()).toBe(nodes([bytes]));
  }
});
