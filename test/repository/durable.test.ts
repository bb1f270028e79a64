// The example of docs/durable.md runs, and prints what the page says.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));

it("the example of docs/durable.md prints what the page says", async () => {
  const page = await readFile(join(here, "../../docs/durable.md"), "utf8");
  const [, code = "", printed = ""] = /^### It runs\n\n```ts\n([^]*?)```\n\n```text\n([^]*?)```/m.exec(page) ?? [];
  expect(printed).not.toBe("");
  // Beside this file, where packages are found by their names.
  const folder = await mkdtemp(join(here, "durable-"));
  try {
    const file = join(folder, "example.mjs");
    await writeFile(file, code);
    expect((await promisify(execFile)(process.execPath, [file])).stdout).toBe(printed);
  } finally {
    await rm(folder, { recursive: true });
  }
});
