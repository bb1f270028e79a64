import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Changes that both versions of a program can live with, with messages of either version. */
const CHANGES: readonly {
  readonly change: string;
  readonly before: string;
  readonly after: string;
  /** Messages of the older version, and the values that the newer one reads. */
  readonly forward: readonly (readonly [sent: unknown, received: unknown])[];
  /** Messages of the newer version, and the values that the older one reads. */
  readonly backward: readonly (readonly [sent: unknown, received: unknown])[];
}[] = [
  {
    change: "a new optional field",
    before: "z.object({ a: z.int() })",
    after: "z.object({ a: z.int(), b: z.string().optional() })",
    forward: [[{ a: 1 }, { a: 1 }]],
    backward: [
      [{ a: 1 }, { a: 1 }],
      [{ a: 1, b: "new" }, { a: 1 }],
    ],
  },
  {
    change: "a new field with a default",
    before: "z.object({ a: z.int() })",
    after: 'z.object({ b: z.string().default("none"), a: z.int() })',
    forward: [[{ a: 1 }, { a: 1, b: "none" }]],
    backward: [[{ a: 1, b: "new" }, { a: 1 }]],
  },
  {
    change: "fields in another order",
    before: "z.object({ a: z.int(), b: z.string(), c: z.boolean().optional() })",
    after: "z.object({ c: z.boolean().optional(), b: z.string(), a: z.int() })",
    forward: [
      [
        { a: 1, b: "x", c: true },
        { a: 1, b: "x", c: true },
      ],
    ],
    backward: [
      [
        { a: 1, b: "x" },
        { a: 1, b: "x" },
      ],
    ],
  },
  {
    change: "an optional field is gone",
    before: "z.object({ a: z.int(), old: z.array(z.object({ deep: z.map(z.string(), z.date()) })).optional() })",
    after: "z.object({ a: z.int() })",
    forward: [[{ a: 1, old: [{ deep: new Map([["k", new Date(1)]]) }] }, { a: 1 }]],
    backward: [[{ a: 1 }, { a: 1 }]],
  },
  {
    change: "a new field inside an element",
    before: "z.object({ list: z.array(z.object({ x: z.number() })) })",
    after: "z.object({ list: z.array(z.object({ x: z.number(), y: z.number().optional() })) })",
    forward: [[{ list: [{ x: 1.5 }] }, { list: [{ x: 1.5 }] }]],
    backward: [[{ list: [{ x: 1.5, y: 2 }, { x: 3 }] }, { list: [{ x: 1.5 }, { x: 3 }] }]],
  },
  {
    change: "a new field in an option of a union",
    before:
      'z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), n: z.int() }), z.object({ kind: z.literal("b") })])',
    after:
      'z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), n: z.int(), m: z.int().optional() }), z.object({ kind: z.literal("b") })])',
    forward: [
      [
        { kind: "a", n: 1 },
        { kind: "a", n: 1 },
      ],
    ],
    backward: [
      [
        { kind: "a", n: 1, m: 2 },
        { kind: "a", n: 1 },
      ],
    ],
  },
  {
    change: "a bound that is wider in what is received",
    before: "z.object({ n: z.int().max(10) })",
    after: "z.object({ n: z.int().max(100) })",
    forward: [[{ n: 10 }, { n: 10 }]],
    backward: [[{ n: 9 }, { n: 9 }]],
  },
  {
    change: "a required field that may be left out from now on",
    before: "z.object({ a: z.int(), b: z.string() })",
    after: "z.object({ a: z.int(), b: z.string().optional() })",
    forward: [
      [
        { a: 1, b: "x" },
        { a: 1, b: "x" },
      ],
    ],
    backward: [
      [
        { a: 1, b: "x" },
        { a: 1, b: "x" },
      ],
    ],
  },
];

describe("a peer one version behind or ahead", () => {
  const samples = CHANGES.flatMap(({ before, after }) =>
    [before, after].map((source) => ({ source, valid: fc.constant(undefined), lossy: false })),
  );
  const compiled = compileSamples(workspace, "evolution.service.ts", samples);

  test.each(CHANGES.map((each, i) => [each.change, i] as const))("%s", async (_, i) => {
    const [older, newer] = (await compiled).slice(i * 2, i * 2 + 2);
    const change = CHANGES[i];
    if (older === undefined || newer === undefined || change === undefined) throw new Error("nothing was compiled");
    const { forward, backward } = change;
    const pass = (sent: unknown, from: typeof older, to: typeof older): unknown => {
      const bytes = encode(from.codec, sent);
      return to.codec.decode(bytes, 0, bytes.length);
    };
    expect(forward.length + backward.length).toBeGreaterThan(0);
    for (const [sent, received] of forward) expect(pass(sent, older, newer)).toEqual(received);
    for (const [sent, received] of backward) expect(pass(sent, newer, older)).toEqual(received);
  });
});
