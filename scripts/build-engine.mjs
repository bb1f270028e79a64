// Builds the engine that is published for a platform, and looks at it: `node scripts/build-engine.mjs linux-x64-musl`.
import { join } from "node:path";
import { faultsOf } from "../packages/quic/scripts/engine-checks.mjs";
import { PLATFORMS } from "../packages/quic/scripts/platforms.mjs";
import { fail, root, run } from "./setup.mjs";

const platform = process.argv[2];
if (PLATFORMS[platform] === undefined) fail(`A platform is one of ${Object.keys(PLATFORMS).join(", ")}.`);
const native = join(root, "packages/quic/native");
const { target } = PLATFORMS[platform];
const added = await run(["target", "add", target], { command: "rustup", cwd: native, capture: true });
if (added.code !== 0) fail(`rustup has no target ${target}.`, added.output);
const { code } = await run(["packages/quic/scripts/build-native.mjs", "--platform", platform]);
if (code !== 0) process.exit(code);
const faults = faultsOf(platform, join(root, "packages/quic/prebuilds", `${platform}.node`));
if (faults.length > 0) fail(`The engine of ${platform} cannot be published:\n${faults.join("\n")}`);
process.exit(0);
