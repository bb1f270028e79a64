import { readFileSync } from "node:fs";
import { bundlePage, modulesOf, writeChunks } from "./scripts/pages.mjs";

/** Modules that no client of a page needs at first. */
const UNWANTED =
  /node_modules\/(zod|msgpackr)\/|core\/dist\/(server\/|interceptors\/|call\/(messages\/json|explain)|session\/(client-renewal|carrier-settings)|transport\/(web-socket|byte-stream|compression)\.js)/;

/** Modules that explain why a message does not fit, and that read or write any value. */
const EXPLANATIONS = /core\/dist\/(codec\/(?!bare|compiled|halves|index|shape)|msgpack\/(read|write)-value)/;

/** Modules of servers over HTTP. */
const SERVER = /(http|core)\/dist\/server\/|grpc\/dist\/grpc-call\.js/;

/** Members that minifiers do not shorten: `#` they do. */
const LONG_MEMBER = /^ {2}private (?!constructor)/m;
/** Objects of each call, item and frame: V8 makes those with `#` members slower, and their methods too. */
const HOT = /core\/dist\/(client\/|call\/(outgoing-stream|items\/|lanes\/)|transport\/(channel|gathering)|wire\/)/;

const hasLongMembers = (path) => {
  const source = path.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
  return /\b(core|browser)\/dist\//.test(path) && !HOT.test(path) && LONG_MEMBER.test(readFileSync(source, "utf8"));
};

/** What is wrong with the modules that a page loads at first. */
function objections(modules, unwanted) {
  const found = modules.filter((path) => unwanted.some((pattern) => pattern.test(path)));
  const long = modules.filter(hasLongMembers);
  return [
    ...found.map((path) => `the bundle contains ${path}`),
    ...long.map((path) => `the bundle contains ${path}, whose private members do not begin with #`),
  ];
}

/**
 * Pages whose size is limited. The size counts the modules that a page loads at first, or all of them if it has `all`. A page with `bare` has a client
 * that `quicrpc gen --no-explain` has written. `unwanted` are the modules that it must not load, by default
 * those above. docs/browsers.md has the sizes.
 */
const pages = [
  {
    page: "web-transport",
    name: "`connectWebTransport`: no fallback, nothing is served, MessagePack alone",
    limit: "35.55 kB",
  },
  {
    page: "fallback",
    name: "`connect`: the same, and how it falls back; the fallback itself, serving and other codecs are loaded when they are needed",
    limit: "38.7 kB",
  },
  {
    page: "fallback",
    name: "`connect` with all that it loads later",
    limit: "64.3 kB",
    all: true,
  },
  {
    page: "fallback-bare",
    name: "`connect` with a client by `quicrpc gen --no-explain`",
    limit: "33.8 kB",
    bare: true,
  },
  {
    page: "one-session",
    name: "`createClientSession(new WebTransport(url))` of `@quicrpc/core`: one session, which does not reconnect",
    limit: "29.25 kB",
  },
  {
    page: "web-transport-bare",
    name: "`connectWebTransport` with a client by `quicrpc gen --no-explain`",
    limit: "30.75 kB",
    bare: true,
  },
  {
    page: "one-session-bare",
    name: "`createClientSession` with a client by `quicrpc gen --no-explain`",
    limit: "24.4 kB",
    bare: true,
  },
  {
    page: "streams-bare",
    name: "`createStreamSession(new WebTransport(url))` of `@quicrpc/core`, and `--no-explain`: a stream for each call",
    limit: "19.4 kB",
    bare: true,
  },
  {
    page: "streams-unary",
    name: "the same with a service of one unary method",
    limit: "16.6 kB",
    bare: true,
  },
  {
    page: "http",
    name: "`httpTransport().caller(url)` of `@quicrpc/http`, with a service of one unary method by `quicrpc gen --target http-client --no-explain`",
    limit: "9.55 kB",
    bare: true,
  },
  {
    page: "grpc-web",
    name: "`grpcWebTransport().caller(url)` of `@quicrpc/grpc`, with the same client, without messages in protobuf",
    limit: "28.95 kB",
    unwanted: [SERVER],
  },
];

/** The files of `packages/browser/script`, which `npm run build` makes. A page for streams loads both. */
const scripts = [
  { name: "`quicrpc.js` for script tags: calls over HTTP", file: "quicrpc.js", limit: "12 kB" },
  {
    name: "`quicrpc-session.js`, which it loads for streams: WebTransport and WebSocket",
    file: "quicrpc-session.js",
    limit: "33 kB",
  },
].map(({ file, ...script }) => ({ ...script, path: `packages/browser/script/${file}`, gzip: true }));

const bundled = await Promise.all(
  pages.map(
    async ({
      page,
      name,
      limit,
      bare = false,
      all = false,
      unwanted = [UNWANTED, ...(bare ? [EXPLANATIONS] : [])],
    }) => {
      const { initial, later } = await bundlePage(`test/size/${page}.ts`);
      const wrong = objections(modulesOf(initial), unwanted);
      if (wrong.length > 0) throw new Error(`${page}: ${wrong.join("; ")}`);
      const path = await writeChunks(all ? `${page}-all` : page, all ? [...initial, ...later] : initial);
      return { name, path, limit, gzip: true };
    },
  ),
);

export default [...bundled, ...scripts];
