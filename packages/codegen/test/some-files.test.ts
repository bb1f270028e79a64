// Runs for some of a project's files, among others with mistakes.
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { generate, type GeneratedFile, writeGenerated } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const schema = (service: string, method = "a: rpc()", imports = ""): string =>
  `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${imports}\nexport const One = service("${service}", { ${method} });\n`;

test.each([
  ["does not parse", "export const = 1;"],
  ["throws", "throw new Error('broken');"],
  ["has no service", "export const nothing = 1;"],
  ["has a bad name", schema("not a name")],
  ["has what cannot be sent", schema("demo.v1.Bad", "a: rpc({ input: z.file() })")],
])("a file that %s does not stop the generation of another", async (name, text) => {
  const good = workspace.write(`${name}/good.service.ts`, schema("demo.v1.Good"));
  const bad = workspace.write(`${name}/bad.service.ts`, text);
  const one = await generate({ files: [good, bad], only: [good] });
  expect(one.diagnostics).toEqual([]);
  expect(one.files.map(({ path }) => path)).toContain(good.replace("good.service.ts", "generated/good.ts"));
  const all = await generate({ files: [good, bad] });
  expect(all.diagnostics).toHaveLength(1);
  expect(all.files).toEqual([]);
});

test("a file that is needed does", async () => {
  workspace.write("needed/bad.ts", "throw new Error('broken');");
  const good = workspace.write("needed/good.service.ts", schema("demo.v1.Good", "a: rpc()", 'import "./bad.js";'));
  expect((await generate({ files: [good], only: [good] })).diagnostics).toMatchObject([{ code: "load-failed" }]);
});

test("files that are not wanted may have the output of a wanted one, or of each other", async () => {
  const [a = "", b = "", other = "", another = ""] = ["a/same", "b/same", "a/other", "b/other"].map((name) =>
    workspace.write(`clash/${name}.service.ts`, schema(`demo.v1.${name.replace("/", "")}`)),
  );
  const files = [a, b, other, another];
  const out = `${workspace.path}/clash/out`;
  for (const only of [[a], [b], [b, other]]) {
    const made = await generate({ files, only, out });
    expect(made.diagnostics).toEqual([]);
    expect(made.files.flatMap((file) => file.schema?.file ?? [])).toEqual(only);
  }
  for (const only of [[a, b], files]) {
    const { diagnostics } = await generate({ files, only, out });
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["output-clash"]));
  }
});

test("two services of one name are reported with both places, where one is wanted", async () => {
  const files = ["a", "b", "c"].map((name) =>
    workspace.write(`twice/${name}.service.ts`, schema(name === "c" ? "demo.v1.Other" : "demo.v1.Twice")),
  );
  const [a = "", b = "", c = ""] = files;
  for (const only of [[a], files]) {
    const { diagnostics } = await generate({ files, only });
    const [first, other] = only.length === 1 ? [a, b] : [b, a];
    expect(diagnostics).toMatchObject([
      { code: "duplicate-service", file: first, line: 4, other: { file: other, line: 4 } },
    ]);
  }
  expect((await generate({ files, only: [c] })).diagnostics).toEqual([]);
});

test("types of anything have no keyword that linters look for", async () => {
  const method = "a: rpc({ input: z.any(), output: z.object({ x: z.any().optional(), list: z.array(z.any()) }) })";
  const file = workspace.write("any/one.service.ts", schema("demo.v1.Any", method));
  const { files } = await generate({ files: [file], importExtension: "ts" });
  const text = files.find(({ path }) => path.endsWith("/one.ts"))?.text ?? "";
  expect(text).not.toMatch(/\bany\b/);
  expect(text).toContain("list: Any[]");
  expect(text).toMatch(/import \{[^}]*type Any,[^}]*\} from "@quicrpc\/core\/generated"/);
});

test("files with the line ends of Windows are as those with others", async () => {
  const text = schema(
    "demo.v1.Ends",
    "/** One.\n * Two. */\n a: rpc({ input: z.object({ /** Three.\n * Four. */ b: z.int() }) })",
  );
  const file = workspace.write("ends/one.service.ts", text);
  const lock = `${workspace.path}/ends/quicrpc.lock.json`;
  const run = async (): Promise<readonly GeneratedFile[]> => (await generate({ files: [file], lock })).files;
  writeGenerated(await run());
  const crlf = (path: string): void => writeFileSync(path, readFileSync(path, "utf8").replaceAll("\n", "\r\n"));
  const files = await run();
  crlf(file);
  for (const { path } of files) crlf(path);
  expect((await run()).filter(({ changed }) => changed)).toEqual([]);
  expect((await run()).map(({ text: made }) => made)).toEqual(files.map(({ text: made }) => made));
});
