// The generated readers and writers agree with those of protobuf-es, which has the messages from the .proto file.
import { createFileRegistry, type FileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
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

/** Compiles schemas as the inputs of methods, with the descriptors of their messages. */
async function compile(
  folder: string,
  samples: readonly Pick<SchemaSample, "source" | "valid">[],
): Promise<{ readonly compiled: Sample[]; readonly registry: FileRegistry }> {
  const methods = samples.map(({ source }, i) => `m${i}: rpc({ input: ${source} })`);
  const path = workspace.write(
    `${folder}/a.service.ts`,
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("test.v1.S", {\n${methods.join(",\n")}\n});`,
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
          if (!String(error).includes("protobuf cannot represent it")) throw error;
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

test.skipIf(BUF === undefined)("options of a union that differ in checks lose no fields", async () => {
  const source = "z.union([z.object({ a: z.email() }), z.object({ a: z.string(), b: z.int() }), z.string()])";
  const { compiled } = await compile("options", [{ source, valid: fc.constant(undefined) }]);
  const { codec } = compiled[0] ?? {};
  for (const value of [{ a: "x", b: 1 }, { a: "ada@example.com" }, { a: "x", b: 0 }, "text"]) {
    const bytes = codec && encode(codec, value);
    expect(bytes && codec.decode(bytes, 0, bytes.length)).toEqual(value);
  }
});

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
