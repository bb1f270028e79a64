import { afterAll, expect, test } from "vitest";
import { compareSnapshots, generate, type SchemaSnapshot } from "../src/index.js";
import type { Shape } from "../src/shape/shape.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

async function snapshot(declarations: string): Promise<SchemaSnapshot> {
  const schema = workspace.write(
    "recursive.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${declarations}\n` +
      `export const S = service("test.v1.S", { m: rpc({ input: L, output: L }) });`,
  );
  const { snapshot, diagnostics } = await generate({ files: [schema] });
  expect(diagnostics).toEqual([]);
  return snapshot;
}

/** Declarations of a recursive type `L`, whose values have a property of type `leaf`. */
const RECURSIVE: Readonly<Record<string, (leaf: string) => string>> = {
  "a nullable self": (leaf) => `const L = z.object({ v: ${leaf}, get next() { return L.nullable() } });`,
  "a nullish self": (leaf) => `const L = z.object({ v: ${leaf}, get next() { return L.nullish() } });`,
  "a union with itself": (leaf) =>
    `const L = z.object({ v: ${leaf}, get next() { return z.union([L, z.int()]).optional() } });`,
  "a union that is named": (leaf) =>
    `const L: z.ZodType<unknown> = z.union([z.int(), z.object({ v: ${leaf}, next: z.lazy(() => L.nullable()) })]);`,
  "mutual nullable recursion": (leaf) =>
    `const L = z.object({ v: ${leaf}, get next() { return M.nullable() } });
     const M = z.object({ get next() { return L.nullable() } });`,
  "lists of a nullable self": (leaf) =>
    `const L = z.object({ v: ${leaf}, get next() { return z.array(z.record(z.string(), L.nullable())) } });`,
  "a tuple with itself": (leaf) =>
    `const L = z.object({ v: ${leaf}, get next() { return z.tuple([z.int(), L.nullable()]).nullable() } });`,
  "a refined self": (leaf) =>
    `const L = z.object({ v: ${leaf}, get next() { return L.refine((value) => value !== undefined).nullable() } });`,
  "an intersection with itself": (leaf) =>
    `const M: z.ZodType<unknown> = z.object({ w: z.int(), next: z.lazy(() => z.union([M, z.null()])) });
     const L: z.ZodType<unknown> = z.intersection(z.object({ v: ${leaf}, next: z.lazy(() => L.nullable()) }), M);`,
  "fields that intersect": (leaf) =>
    `const M: z.ZodType<unknown> = z.object({ next: z.lazy(() => M) });
     const L: z.ZodType<unknown> = z.intersection(z.object({ v: ${leaf}, next: z.lazy(() => L) }), M);`,
};

test.each(Object.entries(RECURSIVE))("compares a type with %s", async (_, declare) => {
  const [before, after] = [await snapshot(declare("z.int()")), await snapshot(declare("z.string()"))];
  const kinds = compareSnapshots(before, after, { http: true }).map(
    (change) => `${change.class} ${change.kind} ${change.path}`,
  );
  expect(kinds).toEqual(expect.arrayContaining([expect.stringMatching(/^wire type-changed input.*v$/)]));
  expect(compareSnapshots(before, before, { http: true })).toEqual([]);
});

test("reports a type that is used twice once, and each use whose own checks change", async () => {
  const declare = (field: string, check: string): string =>
    `export const Name = z.string()${field};\nconst L = z.object({ a: Name.nullable(), b: Name${check} });`;
  const [before, after] = [await snapshot(declare("", "")), await snapshot(declare("", ".max(3)"))];
  expect(compareSnapshots(before, after).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    "check-tightened input.b",
    "check-tightened output.b",
  ]);
});

test("does not follow a chain of types along each of its paths", () => {
  const version = (leaf: "number" | "string"): SchemaSnapshot => {
    const types: Record<string, Shape> = { T0: { kind: "object", fields: { a: { kind: leaf }, b: { kind: leaf } } } };
    for (let i = 1; i <= 30; i++) {
      const inner = (): Shape => ({ kind: "union", options: [{ kind: "ref", name: `T${i - 1}` }, { kind: "null" }] });
      types[`T${i}`] = { kind: "object", fields: { a: inner(), b: inner() } };
    }
    const methods = { m: { id: 1, kind: "unary", input: { kind: "ref", name: "T30" } } } as const;
    return { version: 2, services: { "test.v1.S": { id: 1, methods, types } } };
  };
  expect(compareSnapshots(version("number"), version("string")).map(({ kind }) => kind)).toEqual([
    "type-changed",
    "type-changed",
  ]);
});
