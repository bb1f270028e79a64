// docs/start.md and docs/tutorial.md as a reader follows them: an empty folder, the packed packages, each file and each command of the page.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { platformName } from "../../packages/quic/scripts/platforms.mjs";
import { freePort } from "../../scripts/free-port.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The package of the engine that was built here. */
const engine = `@quicrpc/quic-${platformName()}`;

/** Packages of others that pages name without a version: not each day's latest, but those that projects of `quicrpc init` have. */
const OTHERS: Readonly<Record<string, string>> = {
  "@types/node": "^22.0.0",
  tsx: "^4.20.0",
  typescript: "^5.9.0",
  vite: "^8.0.0",
  zod: "^4.0.0",
};

let scratch: string;
let tarballs: Readonly<Record<string, string>>;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "quicrpc-pages-"));
  const packed = await run(process.execPath, ["scripts/pack.mjs", join(scratch, "tarballs"), "--json"], root);
  tarballs = Object.fromEntries(
    (JSON.parse(packed) as { readonly name: string; readonly path: string }[])
      .filter(({ name }) => !name.startsWith("@quicrpc/quic-") || name === engine)
      .map(({ name, path }) => [name, `file:${path}`]),
  );
}, 300_000);
afterAll(() => rm(scratch, { recursive: true, force: true, maxRetries: 3 }));

interface Fence {
  readonly language: string;
  /** Its file in the reader's folder; undefined for one of no file. */
  readonly file: string | undefined;
  readonly text: string;
}

/** The fences of a page, whose files lie in `folder` of this repository. */
async function fencesOf(page: string, folder: string): Promise<Fence[]> {
  const text = await readFile(join(root, page), "utf8");
  return Array.from(
    text.matchAll(/^```(\w*)(?: file=(\S+))?.*\n([^]*?)^```$/gm),
    ([, language = "", file, text = ""]) => ({
      language,
      file: file?.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : undefined,
      text,
    }),
  );
}

/** Writes the files of a page and runs its commands, in their order, in a folder of its own; those of `lasting` are left to the test. */
async function followed(page: string, folder: string, lasting: RegExp): Promise<string> {
  const project = await mkdtemp(join(scratch, "project-"));
  for (const { language, file, text } of await fencesOf(page, folder)) {
    if (file !== undefined) {
      await mkdir(dirname(join(project, file)), { recursive: true });
      await writeFile(join(project, file), text);
      continue;
    }
    for (const line of language === "sh" ? text.trim().split("\n") : []) {
      const [, options] = /^npm install (.*)$/.exec(line) ?? [];
      if (options !== undefined) await install(project, options.split(" "));
      else if (!lasting.test(line)) await shell(line, project);
    }
  }
  await shell("npx tsc", project);
  return project;
}

/** `npm install`, with the packages of this repository from their tarballs: in the registry there are none, or others. */
async function install(project: string, options: readonly string[]): Promise<void> {
  const path = join(project, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as Record<string, Record<string, string>>;
  const kind = options.includes("--save-dev") ? "devDependencies" : "dependencies";
  const named = options
    .filter((option) => !option.startsWith("--"))
    .map((option) => /^(@?[^@]+)(?:@(.+))?$/.exec(option) ?? [])
    .map(([, name = "", version]) => [name, version ?? tarballs[name] ?? OTHERS[name]] as const);
  expect(named.filter(([, version]) => version === undefined)).toEqual([]);
  manifest[kind] = Object.fromEntries(named) as Record<string, string>;
  const direct = { ...manifest["dependencies"], ...manifest["devDependencies"] };
  manifest["overrides"] = Object.fromEntries(Object.entries(tarballs).filter(([name]) => !(name in direct)));
  await writeFile(path, JSON.stringify(manifest));
  await shell("npm install --prefer-offline --no-audit --no-fund", project);
}

/** Starts what runs until the test is over. Returns its first line of output that matches. */
async function started(project: string, command: string, env: Record<string, string>, says: RegExp): Promise<string> {
  const [file = "", ...words] = command.replace(/^npx /, "").split(" ");
  const child: ChildProcess = spawn(join(project, "node_modules/.bin", file), words, {
    cwd: project,
    env: { ...environment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  let errors = "";
  child.stderr?.on("data", (text) => (errors += String(text)));
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const [found] = says.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`${command} ended: ${errors}`);
}

it("five minutes: a service, a server and a client", { timeout: 300_000 }, async () => {
  const project = await followed("docs/start.md", "examples/guides/src/greeter", /^npx (tsx|quicrpc dev)/);
  const port = String(await freePort());
  for (const name of ["server.ts", "client.ts"]) {
    const text = await readFile(join(project, name), "utf8");
    await writeFile(join(project, name), text.replaceAll("4433", port));
  }
  await started(project, "npx tsx server.ts", {}, /^listening on/);
  expect(await shell("npx tsx client.ts", project)).toBe("{ text: 'Hello, Ada!' }\n3\n2\n1\n0\n");
});

it("the tutorial: two services and a page", { timeout: 300_000 }, async () => {
  const project = await followed("docs/tutorial.md", "examples/tutorial", /^npx (tsx|vite$)/);
  const PORT = String(await freePort());
  const stock = await started(project, "npx tsx src/serve-stock.ts", { PORT: "0" }, /quic:\S+/);
  const orders = await started(project, "npx tsx src/serve-orders.ts", { PORT, STOCK: stock }, /https:\S+/);
  const site = await started(project, "npx vite --port 0", { VITE_ORDERS: orders, NO_COLOR: "1" }, /http:\S+/);
  expect(await (await fetch(site)).text()).toContain("<title>Orders</title>");
  expect(await (await fetch(new URL("/src/page.ts", site))).text()).toContain("createOrdersClient");
  const place = (count: number): Promise<string> =>
    shell(`npx quicrpc call ${orders} shop.v1.Orders/place '{"item":"apples","count":${count}}' --dev`, project);
  expect(JSON.parse(await place(8))).toMatchObject({ id: 1, count: 8 });
  await expect(place(3)).rejects.toThrow(/SOLD_OUT/);
});

/** Without what npm hands to what it starts, the workspace among it. */
function environment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV$)/.test(name)));
}

function shell(line: string, cwd: string): Promise<string> {
  return run(process.platform === "win32" ? "cmd" : "sh", [process.platform === "win32" ? "/c" : "-c", line], cwd);
}

/** Runs a program and returns its output; that of a failure becomes the error. */
async function run(file: string, words: readonly string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(file, words, { cwd, env: environment(), maxBuffer: 1 << 26 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${file} ${words.join(" ")}\n${stdout}${stderr}`, { cause: error });
  }
}
