// Commands that must succeed, and servers that run until they are ended. Commands have the form that `npm` of setup.mjs returns.
import { spawn } from "node:child_process";
import { fail, run } from "../../scripts/setup.mjs";

const isWindows = process.platform === "win32";
const started = new Set();
process.on("exit", () => {
  for (const child of started) endGroup(child, "SIGKILL");
});

/** Starts a group of processes, so that all of it can be ended. `said` is its output. */
export function start({ args, command = process.execPath, ...how }, cwd, env = {}) {
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(command, args, { ...how, cwd, env: { ...process.env, ...env }, detached: !isWindows, stdio });
  child.said = "";
  for (const output of [child.stdout, child.stderr])
    output.setEncoding("utf8").on("data", (text) => (child.said += text));
  started.add(child);
  return child;
}

function endGroup(child, signal) {
  started.delete(child);
  try {
    if (isWindows) child.kill();
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended by itself.
  }
}

export async function end(child) {
  const closed = new Promise((resolve) => child.once("close", resolve));
  endGroup(child, "SIGTERM");
  await closed;
}

/** Waits until `condition`, which may reject, resolves with true. */
export async function until(condition, child, patienceMs) {
  for (const deadline = Date.now() + patienceMs; ; ) {
    if (await Promise.resolve(condition()).catch(() => false)) return;
    if (Date.now() > deadline) fail(`${child.spawnargs.join(" ")} did not begin:\n${child.said}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Runs a command, and returns its output. */
export async function must({ args, ...how }, cwd) {
  const { code, output } = await run(args, { ...how, cwd, capture: true });
  if (code !== 0) fail(`${how.command ?? ""} ${args.join(" ")}, in ${cwd}`.trimStart(), output);
  return output;
}
