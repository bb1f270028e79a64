// Holds the size of a page's client with one generated service, minified and compressed, below a limit. What is loaded only
// when it is asked for (a service's tooling) is not counted.
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 31_000;
/** What no client of a page needs. */
const UNWANTED = /node_modules\/(zod|msgpackr)\/|core\/dist\/(server|interceptors|balance)\//;

const { outputFiles, metafile } = await build({
  stdin: {
    contents: `
      import { connectWebTransport } from "@quicrpc/browser";
      import { createArithClient } from "./generated/arith.js";
      globalThis.run = async (url) => createArithClient(await connectWebTransport(url));
    `,
    resolveDir: "examples/arith/src",
  },
  bundle: true,
  minify: true,
  format: "esm",
  splitting: true,
  outdir: "out",
  write: false,
  metafile: true,
  logLevel: "error",
});

/** The outputs that a page loads at once. */
function loaded(name) {
  const { imports } = metafile.outputs[name];
  return [name, ...imports.filter(({ kind }) => kind === "import-statement").flatMap(({ path }) => loaded(path))];
}

const names = [...new Set(loaded("out/stdin.js"))];
const files = outputFiles.filter(({ path }) => names.some((name) => path === resolve(name)));
const size = files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
const parts = names
  .flatMap((name) => Object.entries(metafile.outputs[name].inputs))
  .map(([path, { bytesInOutput }]) => ({ path, bytes: bytesInOutput }));
const unwanted = parts.filter(({ path, bytes }) => bytes > 0 && UNWANTED.test(path));
console.log(`a page's client with one service, without the fallback: ${size} bytes of ${LIMIT}`);
if (process.argv.includes("--parts")) {
  const folders = new Map();
  for (const { path, bytes } of parts) {
    const folder = path.replace(/^.*packages\/|\/[^/]*$/g, "");
    folders.set(folder, (folders.get(folder) ?? 0) + bytes);
  }
  const sorted = [...folders].sort(([, one], [, other]) => other - one);
  for (const [folder, bytes] of sorted) if (bytes > 0) console.log(`${String(bytes).padStart(8)} ${folder}, minified`);
}
for (const { path } of unwanted) console.log(`it contains ${path}`);
process.exit(size <= LIMIT && unwanted.length === 0 ? 0 : 1);
