// Has the NATS server that tests of @quicrpc/nats start: `npm run nats-server`. It is the one on the PATH, where that is 2.10 or later, or is built by Go, once.
import { buildGoTool } from "./go-tool.mjs";
import { run } from "./setup.mjs";

const SOURCE = "github.com/nats-io/nats-server/v2@v2.15.2";

const present = await run(["--version"], { command: "nats-server", capture: true });
const [, major, minor] = /v(\d+)\.(\d+)/.exec(present.output) ?? [];
if (present.code === 0 && (Number(major) > 2 || Number(minor) >= 10)) {
  console.log(`on the PATH: ${present.output.trim()}`);
} else {
  await buildGoTool("nats-server", SOURCE);
}
