// The checks of fields, as tags in the comments of generated types.
import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

test.each([
  ["z.string().min(1).max(9)", ["@minLength 1", "@maxLength 9"]],
  ["z.string().length(3)", ["@minLength 3", "@maxLength 3"]],
  ["z.string().min(1).min(3)", ["@minLength 3"]],
  ["z.string().regex(/^[a-z ]+$/i)", ["@pattern ^[a-z ]+$"]],
  ["z.string().regex(/a*\\//)", ["@pattern a*\\/"]],
  ["z.email()", ["@format email"]],
  ["z.url()", ["@format uri"]],
  ["z.uuid()", ["@format uuid"]],
  ["z.iso.datetime()", ["@format date-time"]],
  ["z.iso.date()", ["@format date"]],
  ["z.number()", []],
  ["z.int()", ["@asType integer"]],
  ["z.int32()", ["@format int32"]],
  ["z.number().min(0).lt(10).multipleOf(0.5)", ["@minimum 0", "@exclusiveMaximum 10", "@multipleOf 0.5"]],
  ["z.bigint().max(9007199254740993n)", ["@maximum 9007199254740993"]],
  ["z.date().min(new Date(0))", ["@minimum 1970-01-01T00:00:00.000Z"]],
  ["z.array(z.string().max(5)).min(1)", ["@minItems 1", "@items.maxLength 5"]],
  ["z.set(z.int()).max(3)", ["@maxItems 3"]],
  ["z.string().max(5).optional()", ["@maxLength 5"]],
  ["z.string().max(5).nullish().readonly()", ["@maxLength 5"]],
  ['z.string().default("a b")', ['@default "a b"']],
  ["z.int().min(2).default(4)", ["@asType integer", "@minimum 2", "@default 4"]],
  ["z.number().default(() => 4)", []],
  ["z.string().max(4).describe('Told.')", ["Told.", "", "@maxLength 4"]],
  ["z.lazy(() => z.string().max(4))", ["@maxLength 4"]],
  ["z.boolean()", []],
])("%s", async (field, lines) => {
  const file = workspace.write(
    "constraints.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const S = service("test.v1.S", { a: rpc({ input: z.object({ x: ${field} }) }) });
`,
  );
  const { files, diagnostics } = await generate({ files: [file] });
  expect(diagnostics).toEqual([]);
  const text = files[0]?.text ?? "";
  const [, comment = ""] = /export interface SAInput \{\n([^]*?) {2}x\??:/.exec(text) ?? [];
  const told = comment
    .split("\n")
    .map((line) => line.replace(/^\s*\/?\*+\/?|\s*\*\/$/g, "").trim())
    .join("\n")
    .trim();
  expect(told).toBe(lines.join("\n"));
  // A default is the receiver's business: who receives a value does not set one.
  expect(/export interface SAInputParsed[^]*?\}/.exec(text)?.[0] ?? "").not.toContain("@default");
});
