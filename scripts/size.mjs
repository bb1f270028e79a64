// Holds the size of a page's client with one generated service, minified and compressed, below a limit.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 39_000;
/** What no client of a page needs. */
const UNWANTED = /node_modules\/(zod|msgpackr)\//;

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
  write: false,
  metafile: true,
  logLevel: "error",
});
const size = gzipSync(outputFiles[0].contents, { level: 9 }).length;
const unwanted = Object.values(metafile.outputs)
  .flatMap(({ inputs }) => Object.entries(inputs))
  .filter(([path, { bytesInOutput }]) => bytesInOutput > 0 && UNWANTED.test(path));
console.log(`a page's client with one service, without the fallback: ${size} bytes of ${LIMIT}`);
for (const [path] of unwanted) console.log(`it contains ${path}`);
process.exit(size <= LIMIT && unwanted.length === 0 ? 0 : 1);
