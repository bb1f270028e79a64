// JSON by the schema that is not what zod and MessagePack make of the same value. It is expected to fail until one model of the schema says
// how each value is written.
import { jsonCodecOf } from "@quicrpc/http";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { compileSamples } from "../codec/compile.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** A schema, a value of it, and what the other side reads. */
const CASES: readonly (readonly [name: string, source: string, value: unknown])[] = [
  ["a tuple with undefined at its end", "z.tuple([z.string(), z.undefined()])", ["a", undefined]],
  ["a literal NaN", "z.literal(NaN)", Number.NaN],
];

describe("JSON by the schema", async () => {
  const samples = CASES.map(([, source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  const compiled = await compileSamples(workspace, "json.service.ts", samples);
  for (const [index, [name, , value]] of CASES.entries()) {
    test.fails(`${name} is read as zod reads it`, () => {
      const { schema, codec } = compiled[index] ?? expect.unreachable();
      const json = jsonCodecOf(codec);
      expect(json.read(json.write(value))).toEqual(schema.parse(value));
    });
  }
});
