// buf accepts the .proto files of all schemas of the repository, and of random ones.
import fc from "fast-check";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { findSchemaFiles, generate } from "../../src/index.js";
import { schemas } from "../codec/schemas.js";
import { SEED } from "../codec/settings.js";
import { createWorkspace } from "../workspace.js";
import { BUF, buf, missingDescriptors, writeModule } from "./buf.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const folders = ["bench", "examples", "interop", "packages/{codegen,http,mcp,services,studio}", "test"];
const { files } = findSchemaFiles(
  folders.map((folder) => `${folder}/**/*.service.ts`),
  root,
  ["**/.cache/**", "**/templates/**", "examples/frameworks/{expo,angular}/**"],
);

test("the schemas are found", () => expect(files.length).toBeGreaterThan(25));

test.skipIf(BUF === undefined)(
  "buf builds and lints the .proto files of every schema, and agrees with their descriptors",
  { timeout: 240_000 },
  async () => {
    const found: string[] = [];
    for (const [index, file] of files.entries()) {
      const proto = join(workspace.path, String(index));
      const made = await generate({ files: [file], proto, cwd: root });
      writeModule(proto, made.files);
      const said = `${made.diagnostics.map(({ message }) => message).join("\n")}${buf(proto, "lint")}`;
      const wrong = said || missingDescriptors(proto, made.files).join("\n");
      if (wrong !== "") found.push(`${relative(root, file)}\n${wrong}`);
    }
    expect(found).toEqual([]);
  },
);

test.skipIf(BUF === undefined)("buf builds the .proto file of random schemas", { timeout: 120_000 }, async () => {
  const samples = fc.sample(schemas(3), { numRuns: 80, seed: SEED });
  const methods = samples.map(({ source }, i) => `m${i}: rpc({ input: ${source} })`);
  const file = workspace.write(
    "random/a.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("test.v1.S", {\n${methods.join(",\n")}\n});`,
  );
  const proto = join(workspace.path, "random", "proto");
  const { files, diagnostics, warnings } = await generate({ files: [file], proto, cwd: workspace.path });
  expect(diagnostics).toEqual([]);
  expect(warnings.filter(({ code }) => code === "no-proto").length).toBeLessThan(samples.length / 2);
  writeModule(proto, files);
  expect(missingDescriptors(proto, files)).toEqual([]);
});
