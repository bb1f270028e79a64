import { readFileSync } from "node:fs";

/** Modules that no client of a page needs. */
const UNWANTED = /node_modules\/(zod|msgpackr)\/|core\/dist\/(server\/|interceptors\/|balance\/|call\/messages\/json)/;

/** Modules that explain why a message does not fit. */
const EXPLANATIONS = /core\/dist\/codec\/(?!bare|compiled|halves|index|shape)/;

/** Members that minifiers do not shorten: `#` they do. */
const LONG_MEMBER = /^ {2}private (?!constructor)/m;
/** Objects of each call, item and frame: V8 makes those with `#` members slower, and their methods too. */
const HOT = /core\/dist\/(client\/|call\/(outgoing-stream|items\/|lanes\/)|transport\/channel|wire\/)/;

const hasLongMembers = (path) => {
  const source = path.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
  return /\b(core|browser)\/dist\//.test(path) && !HOT.test(path) && LONG_MEMBER.test(readFileSync(source, "utf8"));
};

/** Fails a bundle that contains what it should not. */
const without = (...patterns) => ({
  name: "unwanted",
  setup({ onEnd }) {
    onEnd(({ metafile }) => {
      const inputs = Object.values(metafile?.outputs ?? {}).flatMap((output) => Object.entries(output.inputs));
      const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
      const found = used.filter((path) => patterns.some((pattern) => pattern.test(path)));
      const long = used.filter(hasLongMembers);
      return {
        errors: [
          ...found.map((path) => ({ text: `the bundle contains ${path}` })),
          ...long.map((path) => ({ text: `the bundle contains ${path}, whose private members do not begin with #` })),
        ],
      };
    });
  },
});

/** Leaves out what a page loads when it needs it. */
const loadedLater = {
  name: "loaded later",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
};

const page = (config) => ({ ...config, format: "esm", target: "es2023", splitting: true });
const leanPage = (config) => ({ ...page(config), plugins: [loadedLater, without(UNWANTED)] });
/** The service as `quicrpc gen --no-explain` writes it. */
const barePage = (config) => ({ ...page(config), plugins: [loadedLater, without(UNWANTED, EXPLANATIONS)] });

/** Pages as esbuild bundles them, minified and compressed by gzip. `npm run size:docs` writes what they come to. */
export default [
  {
    name: "`connectWebTransport`: no fallback, nothing is served, MessagePack alone",
    path: "test/size/web-transport.ts",
    modifyEsbuildConfig: leanPage,
    gzip: true,
    limit: "34.55 kB",
  },
  {
    name: "`connect`: the same, and how it falls back; the fallback itself, serving and other codecs are loaded when they are needed",
    path: "test/size/fallback.ts",
    modifyEsbuildConfig: leanPage,
    gzip: true,
    limit: "37.15 kB",
  },
  {
    name: "`connect` with all that it loads later",
    path: "test/size/fallback.ts",
    modifyEsbuildConfig: page,
    gzip: true,
    limit: "64.6 kB",
  },
  {
    name: "`connect` with a client by `quicrpc gen --no-explain`",
    path: "test/size/fallback-bare.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "33.35 kB",
  },
  {
    name: "`createClientSession(new WebTransport(url))` of `@quicrpc/core`: one session, which does not heal",
    path: "test/size/one-session.ts",
    modifyEsbuildConfig: leanPage,
    gzip: true,
    limit: "29 kB",
  },
  {
    name: "`connectWebTransport` with a client by `quicrpc gen --no-explain`",
    path: "test/size/web-transport-bare.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "30.75 kB",
  },
  {
    name: "`createClientSession` with a client by `quicrpc gen --no-explain`",
    path: "test/size/one-session-bare.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "25.25 kB",
  },
  {
    name: "`createStreamSession(new WebTransport(url))` of `@quicrpc/core`, and `--no-explain`: a stream for each call",
    path: "test/size/streams-bare.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "20.1 kB",
  },
  {
    name: "the same with a service of one unary method",
    path: "test/size/streams-unary.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "17.4 kB",
  },
  {
    name: "`httpTransport().caller(url)` of `@quicrpc/http`, with a service of one unary method by `quicrpc gen --target http-client --no-explain`",
    path: "test/size/http.ts",
    modifyEsbuildConfig: barePage,
    gzip: true,
    limit: "9.05 kB",
  },
];
