// Writes the tables of docs/browsers.md: what the pages of .size-limit.mjs come to, and what three of them are made of.
import { build } from "esbuild";
import pages from "../.size-limit.mjs";
import { table, writePlaces } from "./docs.mjs";
import { npm, run } from "./setup.mjs";

const DOCS = "docs/browsers.md";
/** The roles of core's folders in a page; all else is the page's own side. */
const PARTS = {
  call: "calls: lanes, streams of their own, credit, items as WHATWG streams, deadlines",
  transport: "the browser's streams behind the direct interface, channels, the sorting of streams",
  wire: "frames, heads, metadata, errors",
  msgpack: "MessagePack",
  codec: "the shapes that say what does not fit",
  connection: "healing: sessions that are replaced, calls that wait",
  session: "the session: drain, pings, what carries a call",
  client: "the calling side of each kind of call",
};
const SERVICE = "the service's own descriptors, codecs and shapes";
const PAGE = "the page: WebTransport, what it falls back to, its events";
const REST = "errors, metadata, limits, budgets of memory";

const { args, ...how } = npm(["exec", "--", "size-limit", "--json"]);
const { code, output } = await run(args, { ...how, capture: true });
if (code !== 0) throw new Error(output);
const sizes = JSON.parse(output.slice(output.indexOf("[\n")));

/** Minified bytes of each part of a page. */
async function partsOf(page) {
  const { metafile } = await build({
    ...page.modifyEsbuildConfig({ entryPoints: [page.path] }),
    bundle: true,
    minify: true,
    outdir: "out",
    write: false,
    metafile: true,
  });
  const parts = new Map();
  for (const [path, { bytesInOutput }] of Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs),
  )) {
    const folder = path.match(/core\/dist\/(\w+)\//)?.[1];
    const own = path.includes("browser/dist/") ? PAGE : REST;
    const part = path.includes("/generated/") ? SERVICE : (PARTS[folder] ?? own);
    parts.set(part, (parts.get(part) ?? 0) + bytesInOutput);
  }
  return parts;
}
const largest = await partsOf(pages[0]);
const healing = await partsOf(pages.find(({ path }) => path.endsWith("/fallback-bare.ts")));
const smallest = await partsOf(pages.find(({ path }) => path.endsWith("/streams-bare.ts")));

const kB = (bytes) => (bytes / 1000).toFixed(1);
const tables = {
  sizes: table(
    ["| | kB |", "|---|---:|"],
    sizes.map(({ name, size }) => [name, kB(size)]),
  ),
  parts: table(
    ["| the first | `connect`, `--no-explain` | `createStreamSession` | |", "|---:|---:|---:|---|"],
    [...largest]
      .toSorted(([, one], [, other]) => other - one)
      .map(([part, bytes]) => [kB(bytes), kB(healing.get(part) ?? 0), kB(smallest.get(part) ?? 0), part]),
  ),
};
await writePlaces(DOCS, "npm run size:docs", tables);
