// Writes the tables of docs/browsers.md: the sizes of the pages in .size-limit.mjs, and the parts of two of them.
import { SourceMap } from "node:module";
import { gzipSync } from "node:zlib";
import { table, writePlaces } from "./docs.mjs";
import { bundlePage } from "./pages.mjs";
import { npm, run } from "./setup.mjs";

const DOCS = "docs/browsers.md";
/** What each file of a page is for; a file is of the first that it matches. */
const ROLES = [
  ["the service: descriptors, codecs", /\/generated\/|test\/size\//],
  ["schemas that differ between the peers are noticed, and both sides notified", /schema-handshake|misfit-notice/],
  [
    "errors: codes, the caller's line, method, peer, cause and hint; what a reset, a close or a lost session means for a call",
    /core\/dist\/(errors|codes|callers-line|late-expl|guarded|transport-error)|\/fault\.js|explain|close-codes|reset-code|client\/failure/,
  ],
  ["deadlines on one timer, signals, parents", /call\/(expiries|watch|abort|at-most|options)\.js/],
  [
    "items as WHATWG streams and iterators, with back pressure, and those of a call that a connection makes later",
    /call\/items\/(?!lane-flow)|client\/late-/,
  ],
  ["heads and metadata", /wire\/(head|metadata|request)|core\/dist\/metadata/],
  ["MessagePack: the readers and writers that compiled codecs call", /msgpack\/|codec\//],
  ["limits, and the budget of memory", /limits\.js|memory-budget|messages\/payload/],
  [
    "lanes: calls that share one, their frames gathered in one write, greetings, pings, drains, what the peer opens, renewed credentials",
    /call\/lanes|lane-|session\/(create-client|pings|peer-streams|late-renewal|credentials)|wire\/(hello|departure|session-frames|sent-fault)|stream-sorter|joined|gathering/,
  ],
  [
    "frames of any size that arrive in pieces, in buffers that are used again, each within its limit",
    /wire\/|core\/dist\/fifo/,
  ],
  [
    "a transport: bytes that wait to be sent, the browser's streams, its limit of streams, at which calls wait, and of resets, which are paced",
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
    /core\/dist\/(call|client|session|contract|deferred|server|young)/,
  ],
];

const { args, ...how } = npm(["exec", "--", "size-limit", "--json"]);
const { code, output } = await run(args, { ...how, capture: true });
if (code !== 0) throw new Error(output);
const sizes = JSON.parse(output.slice(output.indexOf("[\n")));

/** Compressed bytes of each role in what a page loads at first: those that the page would lack without it, in proportion to all. */
async function rolesOf(page) {
  const { initial } = await bundlePage(`test/size/${page}.ts`);
  const sized = (texts) => texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
  const marked = initial.map(({ code, map }) => ({ characters: Array.from(code), roles: rolesIn(code, map) }));
  const whole = sized(initial.map(({ code }) => code));
  const lacks = ROLES.map(([role]) => {
    const rest = marked.map(({ characters, roles }) => characters.filter((_, at) => roles[at] !== role).join(""));
    return [role, whole - sized(rest)];
  });
  const sum = lacks.reduce((sum, [, bytes]) => sum + bytes, 0);
  return new Map(lacks.map(([role, bytes]) => [role, (bytes * whole) / sum]));
}

/** The role of each character of a chunk; undefined of those that the bundler wrote. */
function rolesIn(code, map) {
  const sources = new SourceMap(map);
  let line = 0;
  let column = 0;
  return Array.from(code, (character) => {
    const { originalSource = "" } = sources.findEntry(line, column);
    [line, column] = character === "\n" ? [line + 1, 0] : [line, column + 1];
    return originalSource === "" ? undefined : roleOf(originalSource);
  });
}

function roleOf(source) {
  const path = source.replace("/src/", "/dist/").replace(/\.ts$/, ".js");
  const found = ROLES.find(([, pattern]) => pattern.test(path));
  if (found === undefined) throw new Error(`scripts/size-docs.mjs has no role for ${source}`);
  return found[0];
}

const healing = await rolesOf("fallback-bare");
const smallest = await rolesOf("streams-bare");

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
await writePlaces(DOCS, "node scripts/size-docs.mjs", tables);
