// What `quicrpc breaking` calls safe, on the wire: every kind of difference of a message that it lets pass, met by the codecs of
// the two versions.
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { SHAPE_CHANGES } from "../../src/breaking/change.js";
import type { Direction } from "../../src/types/zod.js";
import { compareSnapshots, generate, type SchemaSnapshot } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** A change of a message, what its older version sends as an input, or its newer as an output, and what the other end gets. */
type Case = readonly [
  kind: string,
  role: Direction,
  before: string,
  after: string,
  ...sent: (readonly [unknown, unknown])[],
];

const same = (value: unknown): readonly [unknown, unknown] => [value, value];
const A = "z.object({ a: z.int() })";
const CASES: readonly Case[] = [
  ["option-added", "input", 'z.enum(["a", "b"])', 'z.enum(["a", "b", "c"])', same("a"), same("b")],
  ["option-added", "input", "z.string()", "z.union([z.string(), z.object({ text: z.string() })])", same("x")],
  ["type-widened", "input", "z.string()", "z.string().nullable()", same("x")],
  ["type-narrowed", "output", "z.string().nullable()", "z.string()", same("x")],
  ["field-added-required", "output", A, "z.object({ a: z.int(), b: z.int() })", [{ a: 1, b: 2 }, { a: 1 }]],
  ["field-added-optional", "input", A, "z.object({ a: z.int(), b: z.int().optional() })", same({ a: 1 })],
  ["field-added-optional", "input", A, "z.object({ a: z.int(), b: z.int().default(7) })", [{ a: 1 }, { a: 1, b: 7 }]],
  [
    "field-added-optional",
    "output",
    A,
    "z.object({ a: z.int(), b: z.int().optional() })",
    [{ a: 1, b: 2 }, { a: 1 }],
    same({ a: 1 }),
  ],
  [
    "field-added-refused",
    "input",
    "z.strictObject({ a: z.int() })",
    "z.strictObject({ a: z.int(), b: z.int().optional() })",
    same({ a: 1 }),
  ],
  [
    "field-removed-refused",
    "output",
    "z.strictObject({ a: z.int(), b: z.int().optional() })",
    "z.strictObject({ a: z.int() })",
    same({ a: 1 }),
  ],
  ["field-now-required", "output", "z.object({ a: z.int().optional() })", A, same({ a: 1 })],
  ["field-now-optional", "input", A, "z.object({ a: z.int().optional() })", same({ a: 1 })],
  ["others-refused", "output", A, "z.strictObject({ a: z.int() })", same({ a: 1 })],
  ["others-dropped", "input", "z.strictObject({ a: z.int() })", A, same({ a: 1 })],
  ["others-dropped", "output", "z.strictObject({ a: z.int() })", A, same({ a: 1 }), [{ a: 1, b: 2 }, { a: 1 }]],
  ["others-added", "input", A, "z.looseObject({ a: z.int() })", same({ a: 1 })],
  ["others-added", "output", A, "z.looseObject({ a: z.int() })", [{ a: 1, b: "x" }, { a: 1 }]],
  ["others-added-refused", "input", "z.strictObject({ a: z.int() })", "z.looseObject({ a: z.int() })", same({ a: 1 })],
  [
    "keys-now-optional",
    "input",
    'z.record(z.enum(["a", "b"]), z.int())',
    'z.partialRecord(z.enum(["a", "b"]), z.int())',
    same({ a: 1, b: 2 }),
  ],
  [
    "keys-now-required",
    "output",
    'z.partialRecord(z.enum(["a", "b"]), z.int())',
    'z.record(z.enum(["a", "b"]), z.int())',
    same({ a: 1, b: 2 }),
  ],
  ["check-tightened", "output", "z.string().max(5)", "z.string().max(3)", same("abc")],
  ["check-loosened", "input", "z.int().min(1)", "z.int().min(0)", same(1)],
];

async function snapshot(version: "before" | "after"): Promise<SchemaSnapshot> {
  const methods = CASES.map(([, role, before, after], i) => {
    return `  m${i}: rpc({ ${role}: ${version === "before" ? before : after} }),\n`;
  });
  const schema = workspace.write(
    "compared.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("test.v1.S", {\n${methods.join("")}});\n`,
  );
  return (await generate({ files: [schema] })).snapshot;
}

describe("every change that is called safe", () => {
  const samples = CASES.flatMap(([, , before, after]) =>
    [before, after].map((source) => ({ source, valid: fc.constant(undefined), lossy: false })),
  );
  const compiled = compileSamples(workspace, "compatible.service.ts", samples);
  const changes = snapshot("before").then(async (before) => compareSnapshots(before, await snapshot("after")));

  test.each(CASES.map(([kind, role], index) => ({ kind, role, index })))(
    "$kind of an $role",
    async ({ kind, role, index }) => {
      const [, , , , ...messages] = CASES[index] ?? expect.unreachable();
      const found = (await changes).filter(({ method }) => method === `m${index}`);
      expect(found.map((change) => [change.class, change.kind])).toContainEqual(["safe", kind]);
      expect(found.filter((change) => change.class === "wire" || change.class === "validation")).toEqual([]);
      const [before, after] = (await compiled).slice(index * 2);
      const [from, to] = role === "input" ? [before, after] : [after, before];
      if (from === undefined || to === undefined) return expect.unreachable();
      expect(messages.length).toBeGreaterThan(0);
      for (const [sent, received] of messages) {
        const bytes = encode(from.codec, sent);
        expect(to.codec.decode(bytes, 0, bytes.length)).toEqual(received);
      }
    },
  );

  test("is among them", () => {
    const safe = Object.entries(SHAPE_CHANGES).flatMap(([kind, [input, output]]) => [
      ...(input === "safe" ? [`${kind} input`] : []),
      ...(output === "safe" ? [`${kind} output`] : []),
    ]);
    expect(safe.filter((each) => !CASES.some(([kind, role]) => `${kind} ${role}` === each))).toEqual([]);
  });
});
