import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Below the root, so that files written there can import the packages. */
const FOLDER = fileURLToPath(new URL("../node_modules/.cache/quicrpc-test/", import.meta.url));
const bundles = new Map<string, Promise<string>>();

/** Bundles a module of the tests for a Node process of its own: Node runs no TypeScript by itself in every version. */
async function bundle(entry: string): Promise<string> {
  const outfile = join(FOLDER, `${basename(entry, ".ts")}-${process.pid}.mjs`);
  mkdirSync(FOLDER, { recursive: true });
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    // It does not outlive a run that was killed.
    banner: { js: 'process.on("disconnect", () => process.exit());' },
  });
  return outfile;
}

/**
 * Starts a module of the tests as a process with `settings` as its first argument, in JSON, and waits for its first
 * message. Rejects with what it wrote to stderr when it ends before. It ends with this process, however that ends.
 */
export async function startProgram<Message>(
  module: URL,
  settings: unknown,
  execArgv: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly message: Message }> {
  const entry = fileURLToPath(module);
  let bundled = bundles.get(entry);
  if (bundled === undefined) bundles.set(entry, (bundled = bundle(entry)));
  const child = fork(await bundled, [JSON.stringify(settings)], {
    execArgv: [...execArgv],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr?.on("data", (text) => (errors = `${errors}${text}`.slice(-4000)));
  child.stdout?.resume();
  const ended = once(child, "exit").then(() =>
    Promise.reject(new Error(`${basename(entry)} did not start: ${errors}`)),
  );
  const [message] = (await Promise.race([once(child, "message"), ended])) as [Message];
  ended.catch(() => {});
  return { child, message };
}
