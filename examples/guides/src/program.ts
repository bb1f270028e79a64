// Programs of guides in processes of their own, for tests.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";

/**
 * Builds a program of this folder with a free port in place of 4433. Returns the path of the result, which exists until
 * the test ends.
 */
export async function programOn(port: number, file: string): Promise<string> {
  const source = fileURLToPath(new URL(file, import.meta.url));
  // Below the repository, where packages are found by their names.
  const cache = fileURLToPath(new URL("../../../test/.cache", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "guide-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const contents = (await readFile(source, "utf8")).replaceAll("4433", String(port));
  const outfile = join(folder, "program.mjs");
  const stdin = { contents, resolveDir: dirname(source), loader: "ts" } as const;
  await build({ stdin, outfile, bundle: true, packages: "external", platform: "node", format: "esm" });
  return outfile;
}
