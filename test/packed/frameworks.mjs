// node test/packed/frameworks.mjs: examples/frameworks with what is no part of the repository's own installation, from the packed tarballs: Bun, Deno,
// workerd, which runs Cloudflare Workers, Next.js and Angular serve and are called over HTTP; Expo exports a bundle for React Native. Needs the
// network and some minutes.
//   node test/packed/frameworks.mjs Bun     the rows with "Bun" in their names
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tryRows } from "./rows.mjs";
import { root } from "../../scripts/setup.mjs";

const examples = join(root, "examples/frameworks");
const PORT = 8787;
const dependencies = {
  "@quicrpc/core": "*",
  "@quicrpc/http": "*",
  bun: "^1.3.0",
  deno: "^2.5.0",
  esbuild: "^0.28.0",
  workerd: "^1.20261117.0",
  zod: "^4.6.7",
};

const workerd = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .greeter)],
  sockets = [(name = "http", address = "127.0.0.1:${PORT}", http = (), service = "main")],
);
const greeter :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "out/worker.mjs")],
  compatibilityDate = "2026-01-01",
);
`;

const rows = [
  { name: "Bun", serve: "bun src/bun.ts", call },
  { name: "Deno", serve: "deno run --unstable-sloppy-imports --allow-all src/deno.ts", call },
  {
    name: "Cloudflare Workers",
    commands: [
      "esbuild src/worker.ts --bundle --format=esm --conditions=workerd,worker --log-level=error --outfile=out/worker.mjs",
    ],
    serve: "workerd serve config.capnp",
    url: `http://127.0.0.1:${PORT}`,
    call,
  },
];

function fill(folder) {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  writeFileSync(join(folder, "config.capnp"), workerd);
  cpSync(join(examples, "src"), join(folder, "src"), { recursive: true });
}

async function call(url) {
  const base = `${url}/rpc/demo.v1.Greeter`;
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"Ada"}' };
  const { text } = await (await fetch(`${base}/greet`, init)).json();
  if (text !== "Hello, Ada!") return `greet answered ${text}`;
  const message = encodeURIComponent('{"from":2}');
  const events = await fetch(`${base}/count?message=${message}`, { headers: { accept: "text/event-stream" } });
  const stream = await events.text();
  return /data: 2\s+data: 1\s+event: end/.test(stream) ? undefined : `count answered ${stream}`;
}

/** The page has what the server component called, and what a query of the page's was fetched there. */
async function callNext(url) {
  const page = await (await fetch(url)).text();
  const missing = ["<h1>Hello, server!</h1>", "<p>Hello, page!"].find((text) => !page.includes(text));
  return missing === undefined ? call(url) : `${missing} is missing in ${page}`;
}

/** The page has what was fetched for its queries, an answer and a stream. */
async function callAngular(url) {
  const page = await (await fetch(url)).text();
  const missing = ["<p>Hello, Ada!</p>", "<li>3</li><li>2</li><li>1</li>"].find((text) => !page.includes(text));
  return missing === undefined ? call(url) : `${missing} is missing in ${page}`;
}

const copyOf = (example) => (folder) => cpSync(join(examples, example), folder, { recursive: true });
const next = {
  name: "Next.js",
  commands: ["npm run build"],
  serve: "next start -p 0",
  env: { NEXT_TELEMETRY_DISABLED: "1" },
  call: callNext,
};

/**
 * Expo is hundreds of packages, published one after the other, that name the newest of each other: on a day on which not all of them are
 * there, or in a registry that lacks some, none can be installed. A later day is as good, if the row passes.
 */
const EXPO_DAY = "2026-11-01";

/** Metro makes the bundle, and Hermes's compiler its bytecode. */
const expo = {
  name: "React Native",
  commands: ["quicrpc gen", "tsc --noEmit", "expo export --platform android --max-workers 1"],
  env: { CI: "1", EXPO_NO_TELEMETRY: "1", EXPO_OFFLINE: "1" },
  expect: /\.hbc/,
};

function fillExpo(folder) {
  copyOf("expo")(folder);
  cpSync(join(examples, "src/greeter.service.ts"), join(folder, "greeter.service.ts"));
}

/** Angular's compiler checks the templates too. */
const angular = {
  name: "Angular",
  commands: ["quicrpc gen", "ngc -p tsconfig.json"],
  serve: "node dist/server.js",
  call: callAngular,
};

function fillAngular(folder) {
  copyOf("angular")(folder);
  for (const file of ["greeter.service.ts", "greeter.ts"]) cpSync(join(examples, "src", file), join(folder, file));
}

await tryRows([
  { fill, rows },
  { fill: copyOf("next"), rows: [next] },
  { fill: fillAngular, rows: [angular] },
  { fill: fillExpo, rows: [expo], before: EXPO_DAY },
]);
