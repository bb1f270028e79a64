// Verdicts of `quicrpc breaking` about numbers and types in protobuf, compared with those of buf.
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { type Change, compareSnapshots, generate, type SchemaSnapshot, writeGenerated } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";
import { BUF, buf, writeModule } from "./buf.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const COUNT = 60;
const TYPES = [
  "z.string()",
  "z.string().optional()",
  "z.int()",
  "z.int().nullable()",
  "z.int32()",
  "z.number()",
  "z.boolean()",
  "z.date()",
  "z.uint64()",
  "z.instanceof(Uint8Array)",
  "z.unknown()",
  "z.array(z.string())",
  "z.array(z.string()).optional()",
  "z.record(z.string(), z.int())",
  "z.record(z.string(), z.string())",
  'z.enum(["x", "y"])',
  'z.enum(["y", "z"])',
  "z.object({ p: z.int(), q: z.string() })",
  "z.object({ q: z.string(), p: z.string() })",
  "z.union([z.string(), z.boolean()])",
  "z.union([z.boolean(), z.int()])",
  "z.tuple([z.int(), z.string()])",
];

/** Messages with some of these fields. */
const messages = fc
  .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom(...TYPES)), {
    minLength: 1,
    selector: ([key]) => key,
  })
  .map((fields) => `z.object({ ${fields.map(([key, type]) => `${key}: ${type}`).join(", ")} })`);

/** Two versions of a service for each pair of schemas, with the changes that each side finds in it. */
async function compared(
  pairs: readonly (readonly [before: string, after: string])[],
  name: string,
): Promise<{ readonly ours: Change[]; readonly buf: readonly string[] }[]> {
  const versions = [0, 1].map((version) => {
    const services = pairs.map(
      (pair, i) => `export const S${i} = service("test.s${i}.v1.S", { m: rpc({ input: ${pair[version]} }) });`,
    );
    return `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${services.join("\n")}`;
  });
  const runs = [];
  for (const [version, source] of versions.entries()) {
    const file = workspace.write(`${name}/a.service.ts`, source);
    const proto = `proto${version}`;
    const cwd = `${workspace.path}/${name}`;
    const made = await generate({ files: [file], lock: "quicrpc.lock.json", proto, complete: true, cwd });
    expect(made.diagnostics).toEqual([]);
    writeGenerated(made.files);
    writeModule(`${cwd}/${proto}`, made.files, "breaking:\n  use:\n    - WIRE\n");
    // The snapshot as it is read again.
    runs.push(JSON.parse(readFileSync(`${cwd}/quicrpc.schema.json`, "utf8")) as typeof made.snapshot);
  }
  const [before, after] = runs;
  if (before === undefined || after === undefined) return expect.unreachable();
  const ours = compareSnapshots(before, after);
  const said = buf(`${workspace.path}/${name}/proto1`, "breaking", "--against", "../proto0", "--error-format", "json");
  const theirs = said
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly path: string; readonly message: string });
  return pairs.map((_, i) => ({
    ours: ours.filter(({ service }) => service === `test.s${i}.v1.S`),
    buf: theirs.filter(({ path }) => path.includes(`/s${i}/`)).map(({ message }) => message),
  }));
}

test.skipIf(BUF === undefined)(
  "what buf calls breaking on the wire, quicrpc does too",
  { timeout: 120_000 },
  async () => {
    const pairs = fc.sample(fc.tuple(messages, messages), { numRuns: COUNT, seed: 11 });
    const found = await compared(pairs, "random");
    const missed = found.flatMap(({ ours, buf }, i) =>
      buf.length > 0 && !ours.some((change) => change.class === "wire")
        ? [`${pairs[i]?.join(" -> ")}: ${buf.join()}`]
        : [],
    );
    expect(missed).toEqual([]);
    expect(found.filter(({ buf }) => buf.length > 0).length).toBeGreaterThan(COUNT / 4);
  },
);

describe("changes in protobuf", () => {
  const kindsOf = (changes: readonly Change[]): string[] =>
    changes
      .filter(({ kind }) => kind.startsWith("proto-"))
      .map(({ kind, path, message }) => `${kind} ${path}: ${message}`);

  // buf allows some that lose data: integers that are cut, and values that may no longer be absent.
  test.skipIf(BUF === undefined)("are found if bytes mean something else", { timeout: 60_000 }, async () => {
    const cases: (readonly [before: string, after: string, ours: readonly string[], isBreakingInBuf: boolean])[] = [
      ["z.object({ a: z.int() })", "z.object({ a: z.int() })", [], false],
      ["z.object({ a: z.int() })", "z.object({ b: z.int() })", [], false],
      ["z.object({ a: z.int() })", "z.object({ a: z.int().min(1) })", [], false],
      ["z.object({ a: z.int() })", "z.object({ a: z.number() })", ["field 1 was int64 and is double"], true],
      ["z.object({ a: z.int32() })", "z.object({ a: z.int() })", ["field 1 was int32 and is int64"], false],
      [
        "z.object({ a: z.int().optional() })",
        "z.object({ a: z.int() })",
        ["field 1 was optional int64 and is int64"],
        false,
      ],
      [
        "z.object({ a: z.array(z.int()) })",
        "z.object({ a: z.array(z.int()).optional() })",
        ["field 1 was repeated int64 and is SMRequest.AList"],
        true,
      ],
      ["z.object({ a: z.union([z.string(), z.int()]) })", "z.object({ a: z.union([z.int(), z.string()]) })", [], false],
      [
        "z.object({ a: z.record(z.string(), z.int()) })",
        "z.object({ a: z.record(z.string(), z.string()) })",
        ["field 1 was map<string, int64> and is map<string, string>"],
        true,
      ],
    ];
    const found = await compared(
      cases.map(([before, after]) => [before, after]),
      "cases",
    );
    for (const [i, [before, after, ours, isBreaking]] of cases.entries()) {
      const expected = ours.map((text) => `proto-type-changed SMRequest.a: ${text}`);
      expect(kindsOf(found[i]?.ours ?? []), `${before} -> ${after}`).toEqual(expected);
      expect((found[i]?.buf ?? []).length > 0, `${before} -> ${after}: ${found[i]?.buf.join()}`).toBe(isBreaking);
    }
  });

  test("are found if a method is no longer in the .proto file", () => {
    const method = { id: 1, kind: "unary" as const };
    const messages = { SMRequest: { fields: {} }, SMResponse: { fields: {} } };
    const service = (name: string, proto: Record<string, { fields: Record<string, never> }> | undefined) => ({
      version: 2 as const,
      services: { "test.v1.S": { id: 1, methods: { [name]: method }, types: {}, ...(proto && { proto }) } },
    });
    const kinds = (...versions: [SchemaSnapshot, SchemaSnapshot]): string[] => kindsOf(compareSnapshots(...versions));
    expect(kinds(service("m", messages), service("m", {}))).toEqual([
      "proto-method-removed undefined: it is no longer in the .proto file",
    ]);
    expect(kinds(service("m", messages), service("n", { SNRequest: { fields: {} } }))).toEqual([]);
    expect(kinds(service("m", messages), service("m", undefined))).toEqual([]);
    expect(kinds(service("m", {}), service("m", {}))).toEqual([]);
  });

  test("are found if the name of a method in the .proto file changes", async () => {
    const snapshotOf = async (a: string, proto: string): Promise<SchemaSnapshot> => {
      const file = workspace.write(
        "named/a.service.ts",
        `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("test.v1.S", { put: rpc({ input: z.object({ a: ${a} }), meta: { proto: "${proto}" } }) });`,
      );
      const { snapshot } = await generate({ files: [file], proto: "proto", cwd: `${workspace.path}/named` });
      return snapshot;
    };
    const before = await snapshotOf("z.int()", "put_all");
    const kinds = async (a: string, proto: string): Promise<string[]> =>
      kindsOf(compareSnapshots(before, await snapshotOf(a, proto)));
    const removed = "proto-method-removed undefined: it is no longer in the .proto file";
    expect(await kinds("z.int().min(1)", "put_all")).toEqual([]);
    expect(await kinds("z.int().meta({ proto: 'sint64' })", "put_all")).toEqual([removed]);
    expect(await kinds("z.int()", "PutAll")).toEqual([removed]);
    expect(await kinds("z.int()", "Put")).toEqual([removed]);
  });

  test("are found if the lock file was lost, or names have other numbers", () => {
    const service = (fields: Record<string, [number, string]>, values: Record<string, number>) => ({
      version: 2 as const,
      services: {
        "test.v1.S": { id: 1, methods: {}, types: {}, proto: { SMRequest: { fields }, "SMRequest.E": { values } } },
      },
    });
    const before = service({ a: [1, "int64"], b: [2, "SMRequest.E"], c: [3, "string"] }, { x: 1, y: 2 });
    const after = service({ b: [1, "int64"], a: [2, "SMRequest.E"], d: [3, "string"] }, { y: 1, x: 2 });
    const changes = compareSnapshots(before, after);
    expect(changes.map((change) => `${change.class} ${change.path}: ${change.message}`)).toEqual([
      "wire SMRequest.a: its number in protobuf was 1 and is 2",
      "wire SMRequest.b: its number in protobuf was 2 and is 1",
      "wire SMRequest.E.x: its number in protobuf was 1 and is 2",
      "wire SMRequest.E.y: its number in protobuf was 2 and is 1",
      "source SMRequest.c: number 3 is called d now, also in protobuf's JSON",
    ]);
  });
});
