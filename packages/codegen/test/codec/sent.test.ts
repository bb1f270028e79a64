// Values that a sender takes and a receiver refuses or changes. They are expected to fail until one model of the schema says how each value
// is sent.
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { compileSamples, encode } from "../codec/compile.js";
import { same } from "../codec/same.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

class Inherited {
  get message(): string {
    return "from a getter";
  }
}

/** A schema, a value of it, and what the receiver is to get, unless it is what zod makes of the value here. */
const CASES: readonly (readonly [name: string, source: string, value: unknown, received?: unknown])[] = [
  ["an Error where an object is refined", "z.object({ message: z.string() }).refine(() => true)", new Error("late")],
  ["a getter of a class", "z.object({ message: z.string() }).refine(() => true)", new Inherited()],
  [
    "an inherited field",
    "z.object({ message: z.string() }).refine(() => true)",
    Object.create({ message: "inherited" }),
  ],
  ["a default of a record's values", "z.record(z.string(), z.int().default(3))", { a: undefined }],
  ["a typed array where anything may be", "z.any()", new Float64Array([1, 2])],
  ["an Error where anything may be", "z.any()", new Error("late"), { message: "late" }],
  ["a Map of another realm where anything may be", "z.any()", runInNewContext("new Map([[1, 2]])"), new Map([[1, 2]])],
];

describe("what a sender takes, the receiver gets", async () => {
  const samples = CASES.map(([, source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  const compiled = await compileSamples(workspace, "values.service.ts", samples);
  for (const [index, [name, source, value, expected]] of CASES.entries()) {
    test.fails(`${name}: ${source}`, () => {
      const { schema, codec } = compiled[index] ?? expect.unreachable();
      let bytes: Uint8Array;
      try {
        bytes = encode(codec, value);
      } catch (error) {
        // A refusal at the sender, with the place, is as right.
        expect(error).toMatchObject({ code: "invalid_argument" });
        return;
      }
      expect(same(codec.decode(bytes, 0, bytes.length), expected ?? schema.parse(value))).toBe(true);
    });
  }
});
