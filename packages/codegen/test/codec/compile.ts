import type { MessageCodec, PayloadWriter } from "@quicrpc/core/generated";
import { expect } from "vitest";
import type { z } from "zod";
import { generate, writeGenerated } from "../../src/index.js";
import type { Workspace } from "../workspace.js";
import type { SchemaSample } from "./schemas.js";

/** A schema, and the codec that was generated for it. */
export interface CompiledSample extends SchemaSample {
  readonly schema: z.ZodType;
  readonly codec: MessageCodec<unknown>;
}

/** Generates the codecs of `samples` by way of one schema module, and loads them. They may refer to `declarations` of that module. */
export async function compileSamples(
  workspace: Workspace,
  name: string,
  samples: readonly SchemaSample[],
  explain = true,
  declarations = "",
): Promise<CompiledSample[]> {
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
  const { files, diagnostics } = await generate({ files: [path], importExtension: "ts", explain });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const { sMethods } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    sMethods: Record<string, { input: MessageCodec<unknown> }>;
  };
  const { S } = (await import(/* @vite-ignore */ path)) as {
    S: { methods: Record<string, { input: z.ZodType }> };
  };
  return samples.map((sample, i) => {
    const codec = sMethods[`m${i}`]?.input;
    const schema = S.methods[`m${i}`]?.input;
    if (codec === undefined || schema === undefined) throw new Error(`nothing was made of ${sample.source}`);
    return { ...sample, schema, codec };
  });
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
