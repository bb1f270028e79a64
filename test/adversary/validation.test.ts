// What a peer can make a server spend on refusing a message.
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { json, RpcError, type SessionCodec } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { methods } from "./contract.js";
import { MIB, schemes, sharedVictim, withstand } from "./harness.js";

const PEAK = 200 * MIB;
const living = sharedVictim();
const anything = uncheckedCodec<unknown>();
/** The victim's method, as a peer calls it that minds no schema. */
const strict = defineMethod(methods.strict.service, "unary", "strict", { id: 2, input: anything, output: anything });
const texts = defineMethod(methods.texts.service, "unary", "texts", { id: 15, input: anything });
const tree = defineMethod(methods.tree.service, "unary", "tree", { id: 13, input: anything });

/** Writes JSON as it is given, as text. */
const textAsJson: SessionCodec = {
  name: json.name,
  encode(text, out) {
    const bytes = new TextEncoder().encode(text as string);
    out.reserve(bytes.length);
    out.buffer.set(bytes, out.position);
    out.position += bytes.length;
  },
  decode: (bytes, start, end) => json.decode(bytes, start, end),
};

async function refusal(call: Promise<unknown>): Promise<RpcError> {
  return call.then(
    () => expect.unreachable(),
    (error: unknown) => RpcError.from(error),
  );
}

describe.each(schemes)("over %s", (scheme) => {
  it("messages in which nothing fits", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const session = await server.dial(scheme);
      for (const [count, code] of [
        [30_000, "invalid_argument"],
        [1_000_000, "resource_exhausted"],
      ] as const) {
        const calls = [refusal(session.unary(strict, { tags: Array<number>(count).fill(1) }))];
        for (const { code: told, message, details } of await Promise.all(calls)) {
          expect(told).toBe(code);
          expect(message.length).toBeLessThan(1000);
          expect(JSON.stringify(details ?? []).length).toBeLessThan(10_000);
        }
      }
      await session.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });

  it("lists and objects inside one another, without number", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const session = await server.dial(scheme);
      const misfit = new Date(0);
      for (const item of [[], {}, [[]], [{}], { a: [] }, [[[[]]]], { 1000: 1 }]) {
        const items = Math.floor(1_000_000 / JSON.stringify(item).length);
        const { code } = await refusal(session.unary(tree, [...Array<unknown>(items).fill(item), misfit]));
        expect(["invalid_argument", "resource_exhausted"]).toContain(code);
      }
      await session.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });

  it("hundreds of thousands of different keys", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const keys = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`key${i}`, 1]));
      const session = await server.dial(scheme);
      const text = await server.dial(scheme, { advanced: { codec: textAsJson } });
      for (const refused of [
        await refusal(session.unary(tree, keys)),
        await refusal(text.unary(strict, JSON.stringify(keys))),
      ]) {
        expect(refused).toMatchObject({
          code: "resource_exhausted",
          message: expect.stringContaining("takes too long to validate"),
        });
      }
      await session.close();
      await text.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });

  it("texts that zod or the platform would be busy with for long", async () => {
    const server = await living();
    const ideographs = String.fromCharCode(...Array.from({ length: 20_000 }, (_, i) => 0x4e00 + i)).repeat(50);
    const marks = "\u0316\u0301".repeat(500_000);
    const attack = async (): Promise<void> => {
      const session = await server.dial(scheme);
      for (const input of [
        { url: `http://${ideographs}` },
        { url: `https://a${marks}` },
        { address: `::1@${ideographs}` },
        { number: "9".repeat(1_000_000) },
        { normalized: marks },
        { emojis: `${"🦰".repeat(400_000)}!` },
        { template: "-".repeat(1_000_000) },
        { template: "-:".repeat(500_000) },
      ]) {
        expect((await refusal(session.unary(texts, input))).code).toBe("invalid_argument");
      }
      await session.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });

  it("bigints of millions of digits, and other values that JSON lacks", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const session = await server.dial(scheme, { advanced: { codec: textAsJson } });
      for (const text of [
        `{"$bigint":"${"9".repeat(3_000_000)}"}`,
        `{"$number":"${"9".repeat(3_000_000)}"}`,
        `{"$date":"${"9".repeat(3_000_000)}"}`,
        "[".repeat(3_000_000),
        `{"tags":[${'"\\u0000",'.repeat(200_000)}1]}`,
      ]) {
        expect((await refusal(session.unary(strict, text))).code).toMatch(/^(?:invalid_argument|resource_exhausted)$/);
      }
      await session.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });
});
