// Runs before anything is installed: Node built-ins only.
import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mendOutput, projectsIn } from "./output.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const tty = process.stderr.isTTY;
const color = tty && !process.env.NO_COLOR;
const dim = (text) => (color ? `\x1b[2m${text}\x1b[22m` : text);
const red = (text) => (color ? `\x1b[31m${text}\x1b[39m` : text);

/** The command line of a tool, always through this Node: `tsc` and `npm` are not executables on Windows. */
export const tool = {
  tsc: ["node_modules/typescript/bin/tsc"],
  vitest: ["node_modules/vitest/vitest.mjs"],
  quicrpc: [join(root, "packages/cli/dist/main.js")],
};

const BUILD_ENGINE = "packages/quic/scripts/build-native.mjs";
const NO_ENGINE = "It is built with cargo, which is not on the PATH: install Rust from https://rustup.rs.";

/** How to run npm: through this Node when npm started us, as a command otherwise. */
export function npm(args) {
  const path = process.env.npm_execpath;
  if (path !== undefined && basename(path) === "npm-cli.js") return { args: [path, ...args] };
  return { args, command: "npm", shell: process.platform === "win32" };
}

/** A script's opening comment is its help. */
if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
  const [comment] = /^(?:\/\/.*\n)*/.exec(readFileSync(process.argv[1], "utf8"));
  process.stdout.write(comment.replaceAll(/^\/\/ ?/gm, ""));
  process.exit(0);
}

const running = new Set();
let stopping = false;

process.on("SIGINT", () => stop("SIGINT", 130));
process.on("SIGTERM", () => stop("SIGTERM", 143));
// npm does not forward every signal: when npm has ended, this process must end too.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop("SIGTERM", 143), 250).unref();
}

/** Waits for a command to end, which `timeout` milliseconds may hasten. Output is shown as it comes, all of it as messages with `messages`, or kept for the caller with `capture`. */
export function run(
  args,
  { cwd = root, env, capture = false, messages = false, command = process.execPath, shell = false, timeout } = {},
) {
  return new Promise((resolve) => {
    const stdio = capture ? ["ignore", "pipe", "pipe"] : ["inherit", messages ? 2 : "inherit", "inherit"];
    const child = spawn(command, args, { cwd, stdio, shell, timeout, env: { ...process.env, ...env } });
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => (output += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (output += text));
    running.add(child);
    child.on("error", (error) => {
      running.delete(child);
      resolve({ code: 127, output: error.message });
    });
    child.on("close", (code, signal) => {
      running.delete(child);
      if (!stopping) resolve({ code: code ?? (signal === "SIGINT" ? 130 : 1), output });
    });
  });
}

/** Runs a command as one named step: silent when quick, one line with the time when not, everything when it fails. */
export async function step(label, args, { advice, ...options }) {
  const started = performance.now();
  let announced = false;
  const announce = () => {
    if (!announced) process.stderr.write(dim(`${label} …`));
    announced = true;
  };
  const timer = setTimeout(announce, 500);
  const { code, output } = await run(args, { ...options, capture: true });
  clearTimeout(timer);
  const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  if (announced) process.stderr.write(dim(` ${seconds}\n`));
  if (code !== 0) fail(`${label}: failed after ${seconds}. ${advice}`, output, code);
}

/**
 * Everything the repository needs to run: dependencies, the native engine, the TypeScript build. Returns whether there is
 * an engine; where there is none and no cargo to build it, it ends the process before anything is installed, unless `engineOptional`.
 */
export async function setup({ engineOptional = false } = {}) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Node 20.19 or newer is needed; this is ${process.version}.`);
  }
  const engine = (await run([BUILD_ENGINE, "--possible"], { capture: true })).code === 0;
  if (!engine && !engineOptional) fail(`This needs the QUIC engine. ${NO_ENGINE}`);
  if (!engine) console.log(`Without the QUIC engine: QUIC and WebTransport are left out. ${NO_ENGINE}`);
  await installPackages();
  keepCachesHere();
  if (engine) {
    const { code } = await run([BUILD_ENGINE], { messages: true });
    if (code !== 0) process.exit(code);
  }
  mendOutput(join(root, "packages"));
  await step("build: tsc -b", [...tool.tsc, "-b", ...pretty()], { advice: "Fix the type errors below." });
  await step("build: bundles for Node", ["scripts/bundles.mjs"], { advice: "See below." });
  await step("build: the script for pages", ["packages/browser/scripts/bundle.mjs"], { advice: "See below." });
  await step("build: the studio's page", ["packages/studio/scripts/bundle.mjs"], { advice: "See below." });
  return engine;
}

/** Certificates for development are kept in the user's cache folder; where nothing can be written to it, beside the packages. */
function keepCachesHere() {
  const folder = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  if (isWritable(folder)) return;
  process.env.XDG_CACHE_HOME = join(root, "node_modules/.cache");
  console.log(`${folder} cannot be written to: node_modules/.cache takes its place`);
}

function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Generates and builds the examples that `npm start` and the tests run, and nothing imports: all, or those that are named. */
export async function buildExamples(examples = projectsIn(join(root, "examples"))) {
  for (const example of examples) {
    const folder = `examples/${example}`;
    await step(`gen: ${folder}`, [...tool.quicrpc, "gen"], {
      cwd: join(root, folder),
      advice: "The schema or the generator is at fault:",
    });
    await step(`build: ${folder}`, [...tool.tsc, "-p", folder, ...pretty()], { advice: "Fix the type errors below." });
  }
}

/** Ends this process with one line that says what failed and what to do, then the output of the tool. */
export function fail(message, output = "", code = 1) {
  process.stderr.write(`${red(message)}\n${output.trimEnd()}${output === "" ? "" : "\n"}`);
  process.exit(code);
}

async function installPackages() {
  if (installed()) return;
  const verb = existsSync(join(root, "package-lock.json")) ? "ci" : "install";
  // NODE_ENV=production would leave the compiler out.
  const { args, ...how } = npm([verb, "--include=dev", "--no-fund", "--no-audit", "--prefer-offline"]);
  const cache = process.env.npm_config_cache ?? join(homedir(), ".npm");
  await step(`packages: npm ${verb}`, args, {
    ...how,
    // npm fails without a cache.
    env: isWritable(cache) ? {} : { npm_config_cache: join(tmpdir(), "quicrpc-npm-cache") },
    advice: verb === "ci" ? "If package.json has changed, run npm install; otherwise see below." : "See below.",
  });
}

/**
 * Whether node_modules holds what the lockfile asks for. Contents are compared, since times mean nothing after a
 * checkout. Optional packages may be absent: they are for other platforms.
 */
function installed() {
  const locked = packagesOf("package-lock.json");
  const present = packagesOf("node_modules/.package-lock.json");
  if (locked === undefined || present === undefined) return false;
  return Object.entries(locked).every(([path, wanted]) => {
    if (path === "" || !path.includes("node_modules/")) return true;
    const found = present[path];
    if (found === undefined) return wanted.optional === true || wanted.devOptional === true || wanted.peer === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(join(root, lockfile), "utf8")).packages;
  } catch {
    return undefined;
  }
}

function pretty() {
  return color ? ["--pretty"] : [];
}

/**
 * Ends every descendant, then this process. Ctrl-C reaches the whole process group by itself, but a signal sent to this
 * process alone does not, and tools such as npm and cargo have children of their own. So: wait a moment, pass the
 * signal on to whatever is left, and after three seconds leave nothing.
 */
function stop(signal, code) {
  if (stopping) return;
  stopping = true;
  const started = performance.now();
  let left = family([process.pid]);
  let passedOn = false;
  setInterval(() => {
    left = family(left);
    const elapsed = performance.now() - started;
    if (left.length === 0 || elapsed > 4000) process.exit(code);
    if (elapsed > 3000) signalAll(left, "SIGKILL");
    else if (elapsed > 200 && !passedOn) {
      passedOn = true;
      signalAll(left, signal);
    }
  }, 50);
}

function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
}

/** Those of the given processes that still run and all their descendants, without this process. */
function family(pids) {
  const direct = [...running].map((child) => child.pid);
  if (process.platform === "win32") return direct;
  let table;
  try {
    table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,comm="], { encoding: "utf8" });
  } catch {
    return direct;
  }
  const rows = table.split("\n").flatMap((line) => {
    const [pid, parent, state = "Z", name] = line.trim().split(/\s+/);
    const ps = name === "ps" && Number(parent) === process.pid;
    // A zombie has ended: only its parent can clear it away.
    return ps || state.startsWith("Z") ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
  const found = new Set(pids);
  let size;
  do {
    size = found.size;
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
  } while (found.size > size);
  return rows.map(({ pid }) => pid).filter((pid) => found.has(pid) && pid !== process.pid);
}
