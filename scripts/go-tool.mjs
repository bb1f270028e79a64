import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run } from "./setup.mjs";

/** Builds a program by Go, once, into `.cache/<name>`. `source` is its package and version. Ends this process, with what to do, where it cannot. */
export async function buildGoTool(name, source) {
  const folder = join(root, ".cache", name);
  const binary = join(folder, process.platform === "win32" ? `${name}.exe` : name);
  if (existsSync(binary)) return;
  const { code } = await run(["version"], { command: "go", capture: true });
  if (code !== 0) fail(`there is no ${name}`, "Install it, or Go, which builds it.");
  mkdirSync(folder, { recursive: true });
  const built = await run(["install", source], { command: "go", env: { GOBIN: folder }, capture: true });
  if (built.code !== 0) fail(`${name} could not be built`, built.output);
  console.log(`built: ${binary}`);
}
