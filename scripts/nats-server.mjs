// Has the NATS server that tests of @quicrpc/nats start: `npm run nats-server`. It is the one on the PATH, where that is 2.10 or later, or is built by Go, once.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run } from "./setup.mjs";

const VERSION = "v2.15.2";
const folder = join(root, ".cache/nats-server");
const binary = join(folder, process.platform === "win32" ? "nats-server.exe" : "nats-server");

const present = await run(["--version"], { command: "nats-server", capture: true });
const [, major, minor] = /v(\d+)\.(\d+)/.exec(present.output) ?? [];
if (present.code === 0 && (Number(major) > 2 || Number(minor) >= 10)) {
  console.log(`on the PATH: ${present.output.trim()}`);
} else if (!existsSync(binary)) {
  const { code } = await run(["version"], { command: "go", capture: true });
  if (code !== 0) fail("there is no NATS server of 2.10 or later", "Install one, or Go, which builds it.");
  mkdirSync(folder, { recursive: true });
  const source = `github.com/nats-io/nats-server/v2@${VERSION}`;
  const built = await run(["install", source], { command: "go", env: { GOBIN: folder }, capture: true });
  if (built.code !== 0) fail("the NATS server could not be built", built.output);
  console.log(`built: ${binary}`);
}
