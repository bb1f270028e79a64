// The generated readers and writers agree with those of protobuf-es, which has the messages from the .proto file.
import { createFileRegistry, type FileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { decodeWithin, MemoryBudget } from "@quicrpc/core/internal";
import { protobufCodec, type ProtobufService } from "@quicrpc/protobuf";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { z } from "zod";
import { generate, writeGenerated } from "../../src/index.js";
import { encode } from "../codec/compile.js";
import { same } from "../codec/same.js";
import { type SchemaSample, schemas } from "../codec/schemas.js";
import { batchesOf, SEED } from "../codec/settings.js";
import { numbers } from "../codec/values.js";
import { createWorkspace } from "../workspace.js";
import { BUF, buf, writeModule } from "./buf.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const SCHEMAS_PER_BATCH = 60;
const BATCHES = batchesOf(3, SCHEMAS_PER_BATCH);
const VALUES = 30;
const DAMAGED = 6;

interface Sample extends Pick<SchemaSample, "source" | "valid"> {
  readonly schema: z.ZodType;
  readonly codec: MessageCodec<unknown>;
  readonly name: string;
}

/**
 * Compiles schemas as the inputs of methods, with the descriptors of their messages.
 *
 * @param before statements of the module before the service
 */
async function compile(
  folder: string,
  samples: readonly Pick<SchemaSample, "source" | "valid">[],
  before: string = "",
): Promise<{ readonly compiled: Sample[]; readonly registry: FileRegistry }> {
  const methods = samples.map(({ source }, i) => `m${i}: rpc({ input: ${source} })`);
  const path = workspace.write(
    `${folder}/a.service.ts`,
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${before}export const S = service("test.v1.S", {\n${methods.join(",\n")}\n});`,
  );
  const proto = join(workspace.path, folder, "proto");
  const { files, diagnostics } = await generate({
    files: [path],
    proto,
    importExtension: "ts",
    cwd: join(workspace.path, folder),
  });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  writeModule(proto, files);
  const image = join(workspace.path, `${folder}.binpb`);
  expect(buf(proto, "build", "--as-file-descriptor-set", "-o", image)).toBe("");
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
  const load = (end: string): Promise<unknown> =>
    import(/* @vite-ignore */ files.find((file) => file.path.endsWith(end))?.path ?? "");
  const { sMethods } = (await load("/a.ts")) as { sMethods: Record<string, { input: MessageCodec<unknown> }> };
  const { sProtobuf } = (await load("/a.protobuf.ts")) as { sProtobuf: ProtobufService };
  const { S } = (await import(/* @vite-ignore */ path)) as { S: { methods: Record<string, { input: z.ZodType }> } };
  const compiled = samples.flatMap(({ source, valid }, i): Sample[] => {
    const message = sProtobuf.methods[`m${i}`]?.input;
    const codec = sMethods[`m${i}`]?.input;
    const schema = S.methods[`m${i}`]?.input;
    if (message === undefined || codec === undefined || schema === undefined) return [];
    return [{ source, valid, schema, codec: protobufCodec(codec, message), name: message.name }];
  });
  return { compiled, registry };
}

/** Returns the bytes as protobuf-es writes them again, without fields that it does not know. */
function again(registry: FileRegistry, name: string, bytes: Uint8Array): Uint8Array {
  const message = registry.getMessage(name);
  if (message === undefined) throw new Error(`there is no ${name}`);
  return toBinary(message, fromBinary(message, bytes), { writeUnknownFields: false });
}

test.skipIf(BUF === undefined).each(Array.from({ length: BATCHES }, (_, batch) => batch))(
  "messages of random schemas, batch %i",
  { timeout: 120_000 },
  async (batch) => {
    const samples = fc.sample(schemas(3), { numRuns: SCHEMAS_PER_BATCH, seed: SEED + batch });
    const { compiled, registry } = await compile(`batch${batch}`, samples);
    expect(compiled.length).toBeGreaterThan(samples.length / 2);
    const random = numbers(SEED + batch);
    const faults: string[] = [];
    let sent = 0;
    for (const { source, valid, schema, codec, name } of compiled) {
      for (const value of fc.sample(valid, { numRuns: VALUES, seed: SEED + batch })) {
        const expected = outcome(() => schema.parse(value));
        if (expected instanceof Error) continue;
        let bytes: Uint8Array;
        try {
          bytes = encode(codec, value);
        } catch (error) {
          if (!String(error).includes("protobuf cannot represent it") || !hasNoForm(source, value)) throw error;
          continue;
        }
        sent++;
        const told = (what: string, got: unknown): number =>
          faults.push(`${source}\n${what}: ${fc.stringify(value)} is ${fc.stringify(got)}`);
        const read = outcome(() => codec.decode(bytes, 0, bytes.length));
        if (!same(read, expected)) told("own", read);
        const other = again(registry, name, bytes);
        const reread = outcome(() => codec.decode(other, 0, other.length));
        if (!same(reread, expected)) told("protobuf-es", reread);
        for (let i = 0; i < DAMAGED; i++) {
          const damaged = damage(bytes, random);
          const mine = outcome(() => codec.decode(damaged, 0, damaged.length));
          if (mine instanceof Error && !(mine instanceof RpcError)) told("damaged", mine);
        }
      }
    }
    expect(faults.slice(0, 12)).toEqual([]);
    expect(sent).toBeGreaterThan((compiled.length * VALUES) / 2);
  },
);

/** A union with values that must arrive as they are sent. */
type UnionCase = readonly [source: string, ...values: unknown[]];

const UNIONS: readonly UnionCase[] = [
  [
    "z.union([z.object({ a: z.email() }), z.object({ a: z.string(), b: z.int() }), z.string()])",
    { a: "x", b: 1 },
    { a: "ada@example.com" },
    { a: "x", b: 0 },
    "text",
  ],
  ["z.union([z.tuple([z.string()]), z.tuple([z.string(), z.number()])])", ["a", 1], ["a"]],
  ["z.union([z.record(z.string(), z.any()), z.date()])", new Date(0), new Date(5), {}, { a: 1 }],
  [
    "z.union([z.record(z.string(), z.number()), z.instanceof(Uint8Array)])",
    Uint8Array.of(1, 2),
    Uint8Array.of(),
    { a: 1 },
  ],
  [
    "z.union([z.array(z.strictObject({ a: z.string() })), z.array(z.object({ a: z.string(), b: z.string() }))])",
    [{ a: "1", b: "2" }],
    [{ a: "1" }],
    [],
  ],
  [
    "z.union([z.array(z.object({ a: z.email() })), z.array(z.object({ a: z.string(), b: z.string() }))])",
    [{ a: "1", b: "2" }],
  ],
  ["z.union([z.strictObject({ a: z.string().optional() }), z.object({ b: z.number() })])", { b: 1 }, { a: "x" }, {}],
  [
    "z.union([z.object({ b: z.number() }), z.object({ x: z.string().optional(), y: z.string().optional() })])",
    { b: 1 },
    { x: "1" },
    {},
  ],
  ["z.union([z.object({ x: z.string().optional() }).refine(() => false), z.date()])", new Date(3)],
  [
    `z.union([
      z.discriminatedUnion("kind", [z.object({ kind: z.literal("k"), a: z.email() })]),
      z.object({ kind: z.literal("k"), a: z.string(), b: z.int() }),
    ])`,
    { kind: "k", a: "ada@example.com" },
    { kind: "k", a: "x", b: 2 },
  ],
  [
    "z.union([z.object({ in: z.union([z.object({ a: z.email() }), z.object({ a: z.string(), b: z.int() })]) }), z.null(), z.string()])",
    { in: { a: "x", b: 2 } },
    { in: { a: "ada@example.com" } },
  ],
  [
    "z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string() }).and(z.strictObject({ c: z.string() }))])",
    { b: "1", c: "2" },
    { a: "1" },
  ],
];

test.skipIf(BUF === undefined)("values of unions arrive as they are sent", async () => {
  const { compiled } = await compile(
    "options",
    UNIONS.map(([source]) => ({ source, valid: fc.constant(undefined) })),
  );
  expect(compiled.length).toBe(UNIONS.length);
  const arrived = compiled.map(({ codec }, i) => UNIONS[i]?.slice(1).map((value) => roundTrip(codec, value)));
  expect(arrived).toEqual(UNIONS.map(([, ...values]) => values));
});

test.skipIf(BUF === undefined)("a recursive union is written in a time that grows with its size", async () => {
  const node = (name: string, type: string): string =>
    `z.object({ get child() { return Node.optional(); }, ${name}: ${type} })`;
  const before = `const Node = z.union([${node("x", "z.string()")}, ${node("y", "z.number()")}]);\n`;
  const { compiled } = await compile("recursive", [{ source: "Node", valid: fc.constant(undefined) }], before);
  let value: object = { y: 1 };
  // The last level decides each option, so 45 levels would take 2^45 attempts if each attempt began again.
  for (let level = 0; level < 45; level++) value = { child: value, y: level };
  const [{ codec } = {}] = compiled;
  expect(codec && roundTrip(codec, value)).toEqual(value);
});

test.skipIf(BUF === undefined)("a field with a fallback may be absent", async () => {
  const source = 'z.object({ a: z.string().catch("x"), b: z.int().catch(5), c: z.array(z.int()).catch([7]) })';
  const { compiled } = await compile("caught", [{ source, valid: fc.constant(undefined) }]);
  const [{ codec } = {}] = compiled;
  expect(codec && roundTrip(codec, {})).toEqual({ a: "x", b: 5, c: [7] });
  expect(codec && roundTrip(codec, { a: "", b: 0, c: [] })).toEqual({ a: "", b: 0, c: [] });
});

test.skipIf(BUF === undefined)("a oneof may be null or undefined", async () => {
  const options = ["b", "c"].map((arm) => `z.object({ case: z.literal("${arm}"), value: z.int() })`);
  const oneof = (absent: string): string =>
    `z.object({ a: z.discriminatedUnion("case", [${options.join()}])${absent} }).meta({ proto: { a: { b: 1, c: 2 } } })`;
  const samples = ["", ".optional()", ".nullable()"].map((absent) => ({
    source: oneof(absent),
    valid: fc.constant(undefined),
  }));
  const { compiled } = await compile("oneofs", samples);
  const values = [{ a: { case: "c", value: 0 } }, {}, { a: null }];
  expect(compiled.map(({ codec }, i) => roundTrip(codec, values[i]))).toEqual(values);
});

test.skipIf(BUF === undefined)("empty lists are charged", async () => {
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}: z.array(z.int())`);
  const source = `z.object({ ${keys.join(", ")} })`;
  const { compiled } = await compile("lists", [{ source, valid: fc.constant(undefined) }]);
  const [{ codec } = {}] = compiled;
  const budget = new MemoryBudget(2000, "maxSessionBytes");
  const decode = (): unknown => codec && decodeWithin(budget, codec, new Uint8Array(0), 0, 0);
  expect(decode).toThrow("a message of so many values");
});

function roundTrip(codec: MessageCodec<unknown>, value: unknown): unknown {
  const bytes = encode(codec, value);
  return codec.decode(bytes, 0, bytes.length);
}

/** Returns true if a value has a part that protobuf cannot represent, or may have one because its schema accepts anything. */
function hasNoForm(source: string, value: unknown): boolean {
  if (source.includes("z.preprocess((value) => String(value)")) return true;
  const isJson = /z\.(any|unknown)\(/.test(source);
  if (typeof value === "bigint") return isJson || BigInt.asIntN(64, value) !== value;
  if (typeof value !== "object" || value === null) return value === undefined && isJson;
  if (value instanceof Date) return isJson || value.getTime() < -62_135_596_800_000 || value.getUTCFullYear() > 9999;
  if (value instanceof Uint8Array) return isJson;
  if (value instanceof Map || value instanceof Set) {
    return isJson || [...value].some((each: unknown) => hasNoForm(source, each));
  }
  return Object.values(value).some((each) => hasNoForm(source, each));
}

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** Returns a copy that is cut, or has another byte somewhere. */
function damage(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
  if (bytes.length === 0) return Uint8Array.of(random(256));
  if (random(3) === 0) return bytes.slice(0, random(bytes.length));
  const copy = Uint8Array.from(bytes);
  copy[random(bytes.length)] = random(256);
  return copy;
}
