// Provides the NATS server for the tests of @quicrpc/nats: `node scripts/nats-server.mjs`. Uses the one on the PATH if it is
// version 2.10 or later; otherwise builds it with Go, once.
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
