// The example of use without generated code, as packages/core/README.md has it.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));

it("runs, and prints what the page says", async () => {
  const page = await readFile(join(here, "../../packages/core/README.md"), "utf8");
  const [, code = ""] = /^## Without generated code[^]*?```ts\n([^]*?)```/m.exec(page) ?? [];
  const promised = Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.*)/g), ([, text]) => text);
  expect(promised).not.toEqual([]);
  // Beside this file, where packages are found by their names.
  const folder = await mkdtemp(join(here, "readme-"));
  try {
    const file = join(folder, "example.mjs");
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout.trimEnd().split("\n")).toEqual(promised);
  } finally {
    await rm(folder, { recursive: true });
  }
});
