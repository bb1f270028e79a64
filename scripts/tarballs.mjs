// Packs everything that is published and checks what users would get: licences, sources that source maps name, no code
// that runs on installing, sizes below limits. Ends with a dry run of publishing, and with the dependency tree of a
// server as npm installs it. `node scripts/tarballs.mjs [--all]`, with the option of scripts/pack.mjs.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, posix } from "node:path";
import { platformName } from "../packages/quic/scripts/platforms.mjs";
import { pack } from "./pack.mjs";
import { fail, npm, run } from "./setup.mjs";

/** Kilobytes of a tarball, about a tenth above what they are. An engine has one limit for all platforms. */
const LIMITS = {
  "@quicrpc/core": 1215,
  "@quicrpc/pool": 52,
  "@quicrpc/blobs": 70,
  "@quicrpc/topics": 53,
  "@quicrpc/batch": 78,
  "@quicrpc/protobuf": 30,
  "@quicrpc/durable": 120,
  "@quicrpc/quic": 210,
  "@quicrpc/services": 97,
  "@quicrpc/node": 480,
  "@quicrpc/browser": 92,
  "@quicrpc/fails-components": 40,
  "@quicrpc/http": 475,
  "@quicrpc/grpc": 48,
  "@quicrpc/mcp": 30,
  "@quicrpc/otel": 10,
  "@quicrpc/query": 16,
  "@quicrpc/codegen": 550,
  "@quicrpc/vite": 12,
  "@quicrpc/nats": 23,
  "@quicrpc/redis": 15,
  "@quicrpc/testing": 42,
  "@quicrpc/studio": 340,
  quicrpc: 280,
  "create-quicrpc": 5,
};
const ENGINE_LIMIT = 2600;
/** The installation of a server: packages, and kilobytes of their files without zod's. */
const SERVER = [
  "@quicrpc/blobs",
  "@quicrpc/core",
  "@quicrpc/pool",
  "@quicrpc/quic",
  "@quicrpc/topics",
  "@quicrpc/node",
  `@quicrpc/quic-${platformName()}`,
];
const SERVER_PACKAGES = 17;
const SERVER_KILOBYTES = 14_000;
const SCRIPTS = ["preinstall", "install", "postinstall"];
const STRAYS = /\.test\.|tsbuildinfo|^native\/|^prebuilds\//;

const scratch = mkdtempSync(join(tmpdir(), "quicrpc-tarballs-"));
const faults = [];
try {
  const packed = await pack(join(scratch, "tarballs"), { all: process.argv.includes("--all") });
  for (const one of packed) await examine(one);
  await examineServer(packed);
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}
if (faults.length > 0) fail(faults.join("\n"));

async function examine({ name, path, size, files }) {
  const kilobytes = Math.round(size / 1000);
  const isEngine = name.startsWith("@quicrpc/quic-");
  const limit = isEngine ? ENGINE_LIMIT : LIMITS[name];
  console.log(`${name}: ${kilobytes} kB, at most ${limit}`);
  const faulty = (fault) => void faults.push(`${name}: ${fault}`);
  if (limit === undefined) faulty(`has no limit: add it to ${basename(import.meta.url)}`);
  if (kilobytes > limit) faulty(`the tarball has ${kilobytes} kB, at most ${limit} are allowed`);
  const wanted = ["LICENSE", "README.md", ...(isEngine ? ["THIRD-PARTY.md"] : [])];
  for (const file of wanted.filter((file) => !files.includes(file))) faulty(`${file} is missing`);
  for (const file of files.filter((file) => STRAYS.test(file) && !file.startsWith("templates/")))
    faulty(`packs ${file}`);
  const folder = mkdtempSync(join(scratch, "unpacked-"));
  await must({ args: ["-xzf", path, "-C", folder], command: "tar" }, name);
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, "package/package.json"), "utf8"));
  for (const script of SCRIPTS.filter((script) => scripts[script] !== undefined)) faulty(`runs a script: ${script}`);
  for (const map of files.filter((file) => file.endsWith(".map"))) {
    const { sources, sourceRoot = "" } = JSON.parse(readFileSync(join(folder, "package", map), "utf8"));
    const named = sources.map((source) => posix.join(posix.dirname(map), sourceRoot, source));
    for (const source of named.filter((source) => !files.includes(source)))
      faulty(`${map} names ${source}, which is not there`);
  }
  await must(npm(["publish", path, "--dry-run", "--access", "public", "--ignore-scripts"]), name);
}

/** The packages of a server, installed. */
async function examineServer(packed) {
  const project = join(scratch, "server");
  mkdirSync(project);
  const tarballs = packed.filter(({ name }) => SERVER.includes(name));
  const dependencies = Object.fromEntries(tarballs.map(({ name, path }) => [name, `file:${path}`]));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, dependencies }));
  await must({ ...npm(["install", "--prefer-offline", "--no-audit", "--no-fund"]), cwd: project }, "a server");
  const installed = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8")).packages;
  const names = Object.keys(installed).filter((path) => statSync(join(project, path), { throwIfNoEntry: false }));
  const kilobytes = Math.round(
    (sizeOf(join(project, "node_modules")) - sizeOf(join(project, "node_modules/zod"))) / 1000,
  );
  console.log(
    `a server: ${names.length} packages, ${kilobytes} kB, at most ${SERVER_PACKAGES} and ${SERVER_KILOBYTES}`,
  );
  if (names.length > SERVER_PACKAGES) faults.push(`a server installs ${names.length} packages: ${names.join(", ")}`);
  if (kilobytes > SERVER_KILOBYTES) faults.push(`a server installs ${kilobytes} kB`);
  for (const name of names.filter((name) => installed[name].hasInstallScript)) {
    faults.push(`a server runs the install script of ${name}`);
  }
}

function sizeOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
}

async function must({ args, ...how }, name) {
  const { code, output } = await run(args, { ...how, capture: true });
  if (code !== 0) throw new Error(`${name}: ${args.join(" ")}\n${output}`);
}
