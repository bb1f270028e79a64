// Writes the tables of docs/browsers.md: what the pages of .size-limit.mjs come to, and what two of them are made of.
import { SourceMap } from "node:module";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import pages from "../.size-limit.mjs";
import { table, writePlaces } from "./docs.mjs";
import { npm, run } from "./setup.mjs";

const DOCS = "docs/browsers.md";
/** What each file of a page is for; a file is of the first that it matches. */
const ROLES = [
  ["the service: descriptors, codecs", /\/generated\/|test\/size\//],
  ["schemas that differ between the peers are noticed, and both sides notified", /schema-handshake|misfit-notice/],
  [
    "errors: codes, the caller's line, method, peer, cause and hint; what a reset, a close or a lost session means for a call",
    /core\/dist\/(errors|callers-line|guarded|transport-error)|\/fault\.js|close-codes|reset-code|client\/failure/,
  ],
  ["deadlines on one timer, signals, parents", /call\/(expiries|watch|abort|at-most|options)\.js/],
  [
    "items as WHATWG streams and iterators, with back pressure, and those of a call that a connection makes later",
    /call\/items\/(?!lane-flow)|late-call/,
  ],
  ["heads and metadata", /wire\/(head|metadata|request)|core\/dist\/metadata/],
  [
    "MessagePack: the readers and writers that compiled codecs call, and any value, which details of errors are",
    /msgpack\/|codec\//,
  ],
  ["limits, and the budget of memory", /limits\.js|memory-budget|messages\/payload/],
  [
    "lanes: calls that share one, greetings, pings, drains, what the peer opens, renewed credentials",
    /call\/lanes|lane-|session\/(create-client|pings|peer-streams|late-renewal|credentials)|wire\/(hello|departure|session-frames)|stream-sorter|joined/,
  ],
  [
    "frames of any size that arrive in pieces, in buffers that are used again, each within its limit",
    /wire\/|core\/dist\/fifo/,
  ],
  [
    "a transport: frames gathered in one write, bytes that wait to be sent, the browser's streams, and its limit of streams, at which calls wait",
    /core\/dist\/transport\//,
  ],
  [
    "healing: sessions that are replaced before calls notice, calls that wait within bounds, refused ones that are made again",
    /connection\/(?!race)|backoff/,
  ],
  [
    "the page: two transports that race, what is remembered of them, the way back, the page's events, policies",
    /browser\/dist|connection\/race/,
  ],
  [
    "calls of three kinds and the session that makes them: the stream of a call, its request, its answer, notifications that are confirmed at the end",
    /core\/dist\/(call|client|session|contract|deferred|server)/,
  ],
];

const { args, ...how } = npm(["exec", "--", "size-limit", "--json"]);
const { code, output } = await run(args, { ...how, capture: true });
if (code !== 0) throw new Error(output);
const sizes = JSON.parse(output.slice(output.indexOf("[\n")));

/** Compressed bytes of each role in a page: those that the page would lack without it, in proportion to all. */
async function rolesOf(file) {
  const page = pages.find(({ path }) => path.endsWith(file));
  const options = { ...page.modifyEsbuildConfig({ entryPoints: [page.path] }), bundle: true, minify: true };
  const { outputFiles } = await build({ ...options, outdir: "out", write: false, sourcemap: "external" });
  const [map, { text }] = outputFiles.toSorted((one, other) => other.path.length - one.path.length);
  const sources = new SourceMap(JSON.parse(map.text));
  const rows = new Map(ROLES.map(([role]) => [role, Array.from(text, () => false)]));
  let line = 0;
  let column = 0;
  for (const [at, character] of Array.from(text).entries()) {
    const { originalSource = "" } = sources.findEntry(line, column);
    if (originalSource !== "") rows.get(roleOf(originalSource))[at] = true;
    [line, column] = character === "\n" ? [line + 1, 0] : [line, column + 1];
  }
  const whole = gzipSync(text).length;
  const lacks = [...rows].map(([role, own]) => {
    const rest = Array.from(text).filter((_, at) => !own[at]);
    return [role, whole - gzipSync(rest.join("")).length];
  });
  const sum = lacks.reduce((sum, [, bytes]) => sum + bytes, 0);
  return new Map(lacks.map(([role, bytes]) => [role, (bytes * whole) / sum]));
}

function roleOf(source) {
  const path = source.replace("/src/", "/dist/").replace(/\.ts$/, ".js");
  const found = ROLES.find(([, pattern]) => pattern.test(path));
  if (found === undefined) throw new Error(`scripts/size-docs.mjs has no role for ${source}`);
  return found[0];
}

const healing = await rolesOf("/fallback-bare.ts");
const smallest = await rolesOf("/streams-bare.ts");

const kB = (bytes) => (bytes / 1000).toFixed(1);
const tables = {
  sizes: table(
    ["| | kB |", "|---|---:|"],
    sizes.map(({ name, size }) => [name, kB(size)]),
  ),
  roles: table(
    ["| `connect`, `--no-explain` | `createStreamSession` | |", "|---:|---:|---|"],
    ROLES.map(([role]) => [role, healing.get(role), smallest.get(role)])
      .toSorted(([, one], [, other]) => other - one)
      .map(([role, one, other]) => [kB(one), kB(other), role]),
  ),
};
await writePlaces(DOCS, "npm run size:docs", tables);
