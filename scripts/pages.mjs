// Bundles the pages of test/size as Vite does: by Rolldown, minified, and split where code is loaded later.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** Where the bundles are. */
const OUT = "node_modules/.cache/pages";

/**
 * Bundles a page. Returns the chunks that it loads at first, its own and what that imports, and those that it loads when they are needed.
 * What bundlers do not take apart, a module, is loaded at first as a whole, with the parts that only later code uses.
 */
export async function bundlePage(input) {
  const bundle = await rolldown({
    input,
    platform: "browser",
    resolve: { extensionAlias: { ".js": [".js", ".ts"] } },
    // Codecs of a session's own, which pages name themselves.
    external: ["msgpackr", "zod"],
    preserveEntrySignatures: false,
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, sourcemap: "hidden" });
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const initial = new Set();
  const load = (name) => {
    const chunk = chunks.get(name);
    if (chunk === undefined || initial.has(chunk)) return;
    initial.add(chunk);
    chunk.imports.forEach(load);
  };
  load(output.find(({ isEntry }) => isEntry).fileName);
  return { initial: [...initial], later: [...chunks.values()].filter((chunk) => !initial.has(chunk)) };
}

/** The modules that chunks have anything of, by their paths. */
export function modulesOf(chunks) {
  const modules = chunks.flatMap(({ modules }) => Object.entries(modules));
  return modules.filter(([, { renderedLength }]) => renderedLength > 0).map(([path]) => path);
}

/** Writes chunks to files of a folder of the page's own. Returns their paths. */
export async function writeChunks(page, chunks) {
  const folder = join(OUT, page);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const paths = chunks.map(({ fileName }) => join(folder, fileName));
  await Promise.all(chunks.map(({ code }, index) => writeFile(paths[index], code)));
  return paths;
}
