import { readFileSync } from "node:fs";
import fc from "fast-check";
import { ts } from "ts-morph";
import { afterAll, describe, expect, test } from "vitest";
import type { MessageCodec } from "@quicrpc/core/generated";
import { generate, writeGenerated } from "../src/index.js";
import { commentLines, keyText, lineComment, quoted, templateText } from "../src/print/text.js";
import { createWorkspace } from "./workspace.js";
import { encode } from "./codec/compile.js";

const SEED = 2_028;
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Pieces that would leave a string, a template literal, a comment or a pattern, and what they would do there. */
const HOSTILE = [
  "\u2028",
  "\u2029",
  "\n",
  "\r",
  "\r\n",
  "*/",
  "*",
  "/",
  "/*",
  "//",
  "`",
  "$",
  "{",
  "${",
  "}",
  "'",
  '"',
  "\\",
  "\u0000",
  "\u202e",
  "\u2066",
  "\ufeff",
  "\ud800",
  "<!--",
  "-->",
  "]",
  ");",
  "hacked()",
  "globalThis.hacked = 1;",
  "__proto__",
  "b",
  " ",
];
const hostile = fc.array(fc.constantFrom(...HOSTILE), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));

/** The source file of `text`, which must have no error. */
function parsed(text: string): ts.SourceFile {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.ESNext, true);
  const { parseDiagnostics } = file as unknown as { readonly parseDiagnostics: readonly ts.Diagnostic[] };
  if (parseDiagnostics.length > 0) expect([text, parseDiagnostics[0]?.messageText]).toEqual([]);
  return file;
}

describe("text in generated code is what it was, wherever it stands", () => {
  test("in strings, keys and template literals", () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const source = `[${quoted(a)}, { ${keyText(a)}: 1 }, \`${templateText(a)}${templateText(b)}\${""}${templateText(b)}\`]`;
        expect(parsed(source).statements).toHaveLength(1);
        // oxlint-disable-next-line typescript/no-implied-eval -- what is generated is run, as by whoever imports it
        const [text, object, template] = new Function(`return ${source}`)() as [string, object, string];
        expect([text, Object.keys(object), template]).toEqual([a, [a], `${a}${b}${b}`]);
        expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
        expect(source).not.toMatch(/[\u2028\u2029\u202e\u2066\ufeff\n\r]/);
      }),
      { numRuns: 2000, seed: SEED },
    );
  });

  test("in comments", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const source = `// ${lineComment(text)}\n/** ${commentLines(text).join("\n * ")} */\nnothing;\n// ${quoted(text)}`;
        expect(parsed(source).statements).toHaveLength(1);
      }),
      { numRuns: 2000, seed: SEED },
    );
  });
});

/** The source of a service whose every part is called after one of `names`. */
function sourceOf(names: readonly string[], i: number): string {
  const text = (at: number): string =>
    JSON.stringify(names[at % names.length]).replace(/[\u2028\u2029]/g, (c) =>
      c === "\u2028" ? "\\u2028" : "\\u2029",
    );
  const distinct = names.map((_, at) => text(at));
  const fields = (kind: string): string => distinct.map((name) => `[${name}]: ${kind}`).join(", ");
  return `import { rpc, service, stream } from "@quicrpc/core";
    import { z } from "zod";
    const Described = z.object({ ${fields("z.int()")} }).describe(${text(0)});
    export const Option = z.discriminatedUnion("k", [
      ${distinct.map((name) => `z.object({ k: z.literal(${name}), v: z.int().describe(${name}) })`).join(", ")}, z.object({ k: z.literal("k"), v: z.int() })]);
    export const Names = service("test.v1.Names${i}", {
      objects: rpc({ input: Described, output: z.strictObject({ ${fields("z.string().optional()")} }).meta({ title: ${text(1)}, id: ${text(2)} }) }),
      values: rpc({
        input: z.object({
          all: z.enum([${distinct.join(", ")}]),
          literal: z.literal(${text(0)}).default(${text(0)}),
          template: z.templateLiteral([${text(0)}, ${text(1)}, z.int(), ${text(2)}]),
          checked: z.string().startsWith(${text(0)}).includes(${text(1)}).endsWith(${text(2)}).optional(),
          matched: z.string().regex(new RegExp(${text(0)}.replace(/[^\\w\\s\\u2028\\u2029]/g, "\\\\$&"))).optional(),
          record: z.record(z.enum([${distinct.join(", ")}]), z.int()).optional(),
          object: z.object({ a: z.any() }).default({ a: { [${text(0)}]: ${text(1)} } }),
          transformed: z.object({ ${fields("z.int().transform(String)")} }).optional(),
        }),
        output: Option,
        errors: { FAILED: z.object({ ${fields("z.int()")} }).describe(${text(2)}) },
      }),
      streams: rpc({ input: stream(Described), output: stream(Option) }),
    });`;
}

test("names of a schema's author stay what they are in what is generated of it", { timeout: 240_000 }, async () => {
  const lists = fc.sample(fc.uniqueArray(hostile, { minLength: 3, maxLength: 5 }), { numRuns: 15, seed: SEED });
  const paths = lists.map((names, i) =>
    workspace.write(
      `names${i}.service.ts`,
      sourceOf(
        names.filter((name) => name !== "__proto__"),
        i,
      ),
    ),
  );
  const { files, diagnostics } = await generate({ files: paths, importExtension: "ts", out: workspace.path });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  for (const { path } of files.filter((file) => file.path.endsWith(".ts"))) {
    const walk = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && /^(?:hacked|globalThis)$/.test(node.text))
        expect([path, node.parent.getText()]).toEqual([]);
      node.forEachChild(walk);
    };
    walk(parsed(readFileSync(path, "utf8")));
  }
  for (const [i, names] of lists.entries()) {
    const { namesMethods } = (await import(/* @vite-ignore */ `${workspace.path}/names${i}.ts`)) as {
      namesMethods: Record<string, { input: MessageCodec<unknown> }>;
    };
    const value = Object.fromEntries(names.filter((name) => name !== "__proto__").map((name, n) => [name, n]));
    const codec = namesMethods["objects"]?.input;
    if (codec === undefined) throw new Error("no codec");
    const bytes = encode(codec, value);
    // Lone surrogates cannot be sent.
    if (!names.some((name) => /[\ud800-\udfff]/.test(name)))
      expect(codec.decode(bytes, 0, bytes.length)).toEqual(value);
  }
  expect("hacked" in globalThis).toBe(false);
});

test("fields called as the code beside them is", async () => {
  const path = workspace.write(
    "beside.service.ts",
    `import { rpc, service } from "@quicrpc/core";
     import { z } from "zod";
     const Inner = z.object({ a: z.int() });
     const names = ["readInner", "writeInner", "wire", "r", "p", "b", "depth", "bytes", "class", "await", "innerShape", "regexPattern", "result", "x"];
     export const Beside = service("test.v1.Beside", {
       all: rpc({ input: z.object({ ...Object.fromEntries(names.map((name) => [name, Inner.optional()])), t: z.string().regex(/a/) }) }),
     });`,
  );
  const { files, diagnostics } = await generate({ files: [path], importExtension: "ts" });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const { besideMethods } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    besideMethods: { all: { input: MessageCodec<unknown> } };
  };
  const value = { readInner: { a: 1 }, regexPattern: { a: 2 }, class: { a: 3 }, depth: { a: 4 }, x: { a: 5 }, t: "a" };
  const bytes = encode(besideMethods.all.input, value);
  expect(besideMethods.all.input.decode(bytes, 0, bytes.length)).toEqual(value);
});

test("what is generated is the same each time, whatever the order of the files", async () => {
  const paths = ["a", "b", "c"].map((name) =>
    workspace.write(
      `${name}.service.ts`,
      `import { rpc, service } from "@quicrpc/core";
       import { z } from "zod";
       import { Shared } from "./shared.ts";
       export const ${name.toUpperCase()} = service("test.v1.${name.toUpperCase()}", { get: rpc({ input: Shared, output: z.json() }) });`,
    ),
  );
  workspace.write(
    "shared.ts",
    'import { z } from "zod"; export const Shared = z.object({ a: z.map(z.string(), z.json()) });',
  );
  const texts = async (order: readonly string[]): Promise<string[][]> => {
    const { files } = await generate({ files: order, importExtension: "ts", out: `${workspace.path}/same` });
    return files.map(({ path, text }) => [path, text]).toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  };
  const first = await texts(paths);
  expect(await texts(paths)).toEqual(first);
  expect(await texts(paths.toReversed())).toEqual(first);
});
