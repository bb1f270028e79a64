// Looks for security advisories of the engine's crates, with cargo-deny: for quinn-proto as published, in the version and with
// the checksum that the engine is built from, since advisories name crates of the registry. Needs the network.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeUnpatched } from "../packages/quic/scripts/engine-sources.mjs";
import { root, run } from "./setup.mjs";

const work = mkdtempSync(join(tmpdir(), "advisories-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const config = join(root, "packages/quic/native/deny.toml");
const deny = ["deny", "--locked", "--manifest-path", writeUnpatched(work), "--config", config, "check", "advisories"];
process.exit((await run(deny, { command: "cargo" })).code);
