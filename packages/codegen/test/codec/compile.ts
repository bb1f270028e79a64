import type { MessageCodec, PayloadWriter } from "@quicrpc/core/generated";
import { expect } from "vitest";
import type { z } from "zod";
import type { VersionedShape } from "../../src/breaking/compare-shapes.js";
import { generate, type SchemaSnapshot, writeGenerated } from "../../src/index.js";
import type { Workspace } from "../workspace.js";
import type { SchemaSample } from "./schemas.js";

/** A schema, and the codec that was generated for it. */
export interface CompiledSample extends SchemaSample {
  readonly schema: z.ZodType;
  readonly codec: MessageCodec<unknown>;
}

/** Schemas as the methods `m0`, `m1` … of a service, with their codecs. */
export interface CompiledService {
  readonly samples: readonly CompiledSample[];
  readonly snapshot: SchemaSnapshot;
}

/** The shape of the input of a method, with the types that it refers to. */
export function shapeIn({ snapshot }: CompiledService, method: string): VersionedShape {
  const [service] = Object.values(snapshot.services);
  const shape = service?.methods[method]?.input;
  if (service === undefined || shape === undefined) throw new Error(`${method} has no input`);
  return { shape, types: service.types };
}

/** Generates the codecs of `samples` by way of one schema module, and loads them. They may refer to `declarations` of that module. */
export async function compileSamples(...given: Parameters<typeof compileService>): Promise<CompiledSample[]> {
  return [...(await compileService(...given)).samples];
}

/** The same, with the snapshot that `quicrpc breaking` compares. */
export async function compileService(
  workspace: Workspace,
  name: string,
  samples: readonly SchemaSample[],
  explain = true,
  declarations = "",
): Promise<CompiledService> {
  const path = workspace.write(
    name,
    [
      'import { rpc, service } from "@quicrpc/core";',
      'import { z } from "zod";',
      declarations,
      'export const S = service("test.v1.S", {',
      ...samples.map(({ source }, i) => `  m${i}: rpc({ input: ${source} }),`),
      "});",
    ].join("\n"),
  );
  const { files, diagnostics, snapshot } = await generate({ files: [path], importExtension: "ts", explain });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const { sMethods } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    sMethods: Record<string, { input: MessageCodec<unknown> }>;
  };
  const { S } = (await import(/* @vite-ignore */ path)) as {
    S: { methods: Record<string, { input: z.ZodType }> };
  };
  const compiled = samples.map((sample, i) => {
    const codec = sMethods[`m${i}`]?.input;
    const schema = S.methods[`m${i}`]?.input;
    if (codec === undefined || schema === undefined) throw new Error(`nothing was made of ${sample.source}`);
    return { ...sample, schema, codec };
  });
  return { samples: compiled, snapshot };
}

/** Grows as a session's does, from next to nothing. */
class Out implements PayloadWriter {
  buffer: Uint8Array = new Uint8Array(16);
  position = 3;
  reserve(length: number): void {
    if (this.position + length <= this.buffer.length) return;
    const larger = new Uint8Array(this.position + length);
    larger.set(this.buffer);
    this.buffer = larger;
  }
}

export function encode(codec: MessageCodec<unknown>, value: unknown): Uint8Array {
  const out = new Out();
  codec.encode(value, out);
  expect(out.position).toBeLessThanOrEqual(out.buffer.length);
  return out.buffer.slice(3, out.position);
}
