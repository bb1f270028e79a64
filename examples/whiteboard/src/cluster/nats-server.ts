import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../../../../.cache/nats-server/nats-server", import.meta.url));

/**
 * Returns the path of a NATS server of version 2.10 or later: the one that `node scripts/nats-server.mjs` has built, or the one
 * on the PATH.
 */
export function natsServer(): string | undefined {
  return [built, "nats-server"].find((command) => {
    const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
    const [, major, minor] = /v(\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
    return Number(major) > 2 || Number(minor) >= 10;
  });
}
