import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findSchemaFiles } from "./files.js";

const cwd = mkdtempSync(join(tmpdir(), "quicrpc-files-"));
afterAll(() => rmSync(cwd, { recursive: true }));
for (const file of ["a/b/c/deep", "a/near", "node_modules/of/package", "dist/built", ".hidden/one", "a/.git/two"]) {
  const path = join(cwd, `${file}.service.ts`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
}
const found = (maxFolders?: number): string[] =>
  findSchemaFiles(["**/*.service.ts"], cwd, [], maxFolders).files.map((file) => relative(cwd, file));

test("a search for schemas passes over packages, what is built and what is hidden", () => {
  expect(found()).toEqual(["a/b/c/deep.service.ts", "a/near.service.ts"]);
});

test("a search ends after so many folders, and says so where it has found nothing", () => {
  expect(found(4)).toEqual(found());
  expect(found(2)).toEqual(["a/near.service.ts"]);
  const { diagnostics } = findSchemaFiles(["**/*.service.ts"], cwd, [], 1);
  expect(diagnostics).toMatchObject([
    { message: expect.stringContaining("of which the first 1 folders were looked at") },
  ]);
});
