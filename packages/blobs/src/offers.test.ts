import { expect, it } from "vitest";
import { Metadata } from "@quicrpc/core";
import { Offered } from "./offers.js";
import { createSha256 } from "./sha256.js";
import { turnsDuring } from "../../core/test/turns.js";

const MIB = 1024 * 1024;

it("others have their turns while what a receiver has is hashed, and a read that was ended hashes no more", async () => {
  const piece = new Uint8Array(MIB);
  let given = 0;
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 8; n++) {
      given++;
      yield piece;
    }
  };
  const all = createSha256();
  for (let n = 0; n < 8; n++) all.update(piece);
  const offered = new Offered({ content, length: 8 * MIB }, [0, 8 * MIB, "", ""], () => {});
  const read = (): Promise<unknown> => {
    const reading = { hasEnded: false, trailers: new Metadata(), reply: undefined };
    return offered.read(8 * MIB, all.copy().hex(), false, reading).next();
  };
  const [turns, reads] = await turnsDuring(() => Promise.allSettled(Array.from({ length: 50 }, read)));
  expect(reads.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(turns).toBeGreaterThanOrEqual(31);
  expect(given).toBeLessThan(50 * 8);
});
