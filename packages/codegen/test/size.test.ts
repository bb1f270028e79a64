// How much is generated: what is the same is there once.
import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const METHODS = 20;

async function textOf(name: string, method: (index: number) => string): Promise<string[]> {
  const methods = Array.from({ length: METHODS }, (_, index) => `m${index}: rpc({ ${method(index)} }),`);
  const file = workspace.write(
    `${name}/one.service.ts`,
    `import { rpc, service, stream } from "@quicrpc/core";
     import { z } from "zod";
     const User = z.object({ id: z.uuid(), name: z.string().min(1), email: z.email().optional(), role: z.enum(["a", "b"]).default("a") });
     export const One = service("demo.v1.One", { ${methods.join("\n")} });`,
  );
  const { files, diagnostics } = await generate({ files: [file] });
  expect(diagnostics).toEqual([]);
  return files.map(({ text }) => text);
}

const lines = (texts: readonly string[]): number => texts.join("").split("\n").length;

test("messages that are the same are written, read and described by the same code", async () => {
  const texts = await textOf(
    "same",
    (
      index,
    ) => `input: z.object({ id: z.int(), user: User, tags: z.array(z.string()).max(10), at: z.date().optional() }),
      output: ${index % 5 === 0 ? "stream" : ""}(z.object({ ok: z.boolean(), list: z.array(z.object({ a: z.number(), b: z.string().nullable() })) }))`,
  );
  expect(texts[1]?.match(/^function read/gm)).toHaveLength(6);
  expect(texts[1]?.match(/^export const/gm)).toHaveLength(METHODS * 2);
  expect(lines(texts) / METHODS).toBeLessThan(100);
});

test("types that their schema alone tells are not taken for the same", async () => {
  const [, codecs = ""] = await textOf("told-apart", (index) => {
    const key = `Key${index % 2}`;
    return `input: z.object({ kind: z.enum({ ${key}: "a" }) })`;
  });
  expect(codecs.match(/^const \w+Shape/gm)?.length).toBeGreaterThanOrEqual(METHODS);
});

test("messages that differ take a few lines for each of their fields", async () => {
  const texts = await textOf(
    "differing",
    (
      index,
    ) => `input: z.object({ id${index}: z.int(), user: User, tags${index}: z.array(z.string()).max(10), at: z.date().optional() }),
      output: z.object({ ok${index}: z.boolean(), list: z.array(z.object({ a${index}: z.number(), b: z.string().nullable() })) })`,
  );
  expect(lines(texts) / METHODS).toBeLessThan(330);
});
