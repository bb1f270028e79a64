// What a schema says of its methods: in descriptors, and in documents.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const write = (name: string, methods: string): string =>
  workspace.write(
    `${name}/one.service.ts`,
    `import { notify, rpc, service } from "@quicrpc/core";
     const shared = { auth: "user", cost: 3 };
     export const One = service("demo.v1.One", { ${methods} });`,
  );

test("meta is in descriptors and documents", async () => {
  const file = write(
    "good",
    `a: rpc({ meta: shared }), b: notify({ meta: { "a key": [true, null, 'it is "so"'], ratio: 0.5, in: { deep: {} } } }), c: rpc()`,
  );
  const { files, diagnostics } = await generate({ files: [file], docs: "docs.md", cwd: workspace.path });
  expect(diagnostics).toEqual([]);
  const text = (name: string): string => files.find(({ path }) => path.endsWith(name))?.text ?? "";
  expect(text("one.ts")).toContain('meta: { auth: "user", cost: 3 }');
  expect(text("one.ts")).toContain(`meta: { "a key": [true, null, 'it is "so"'], ratio: 0.5, in: { deep: {} } }`);
  expect(text("docs.md")).toContain("| `auth` | `user` |\n| `cost` | `3` |\n");
});

test("once is in descriptors and documents", async () => {
  const file = write("once", "a: rpc({ once: true }), b: rpc()");
  const given = { files: [file], docs: "docs.md", openapi: "openapi.json", cwd: workspace.path };
  const { files, diagnostics } = await generate(given);
  expect(diagnostics).toEqual([]);
  const text = (name: string): string => files.find(({ path }) => path.endsWith(name))?.text ?? "";
  expect(text("one.ts").match(/extension: onceCalls/g)).toHaveLength(1);
  expect(text("docs.md")).toContain("Unary, id 1, once.");
  expect(text("openapi.json").match(/"name": "Idempotency-Key"/g)).toHaveLength(1);
});

test.each([
  ["@quicrpc/durable", "a once method", "{ once: true }", {}, "The code of a, which is once,"],
  [
    "@quicrpc/protobuf",
    "a .proto file",
    "{}",
    { proto: "proto" },
    "The code that reads and writes demo.v1.One in protobuf",
  ],
])("a project without %s that has %s is told to install it", async (name, _, method, options, importer) => {
  const elsewhere = mkdtempSync(join(tmpdir(), "quicrpc-missing-"));
  try {
    const modules = join(elsewhere, "node_modules");
    mkdirSync(join(modules, "@quicrpc"), { recursive: true });
    for (const each of ["@quicrpc/core", "zod"])
      symlinkSync(fileURLToPath(new URL(`../../../node_modules/${each}`, import.meta.url)), join(modules, each));
    const file = join(elsewhere, "one.service.ts");
    writeFileSync(
      file,
      `import { rpc, service } from "@quicrpc/core";\nexport const One = service("demo.v1.One", { a: rpc(${method}) });\n`,
    );
    const { diagnostics, files } = await generate({ files: [file], cwd: elsewhere, ...options });
    expect(files).toEqual([]);
    expect(diagnostics).toMatchObject([
      {
        code: "missing-package",
        message: `${importer} imports ${name}, which is not installed.`,
        help: `Install the package: npm install ${name}.`,
      },
    ]);
  } finally {
    rmSync(elsewhere, { recursive: true, force: true });
  }
});

test.each(['"user"', "[1]", "{ at: new Date(0) }", "{ check: () => true }", "{ big: 1n }", "{ not: NaN }"])(
  "meta that is no JSON is refused: %s",
  async (meta) => {
    const file = write("bad", `a: rpc({ meta: ${meta} })`);
    const { diagnostics } = await generate({ files: [file] });
    expect(diagnostics).toMatchObject([{ code: "invalid-meta", line: 3, method: "a", path: "meta" }]);
  },
);
