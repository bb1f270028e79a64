// Writes bills of materials (CycloneDX) of the published npm packages and the engine's crates: `node scripts/sbom.mjs
// <folder>`.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeEngineSources } from "../packages/quic/scripts/engine-sources.mjs";
import { FOLDERS } from "./pack.mjs";
import { fail, npm, root, run } from "./setup.mjs";

const out = process.argv[2];
if (out === undefined) fail("node scripts/sbom.mjs <folder>");
const workspaces = FOLDERS.flatMap((folder) => ["--workspace", `packages/${folder}`]);
const { args, ...how } = npm([
  "sbom",
  "--sbom-format",
  "cyclonedx",
  "--package-lock-only",
  "--omit",
  "dev",
  "--loglevel=error",
  ...workspaces,
]);
const { code, output } = await run(args, { ...how, capture: true });
if (code !== 0) fail("npm sbom failed.", output);
writeFileSync(join(out, "npm.cdx.json"), output);

const manifest = join(root, "packages/quic/native/Cargo.toml");
const cargo = async (...given) => {
  const ended = await run(given, { command: "cargo" });
  if (ended.code !== 0) process.exit(ended.code);
};
await cargo("install", "--locked", "cargo-cyclonedx@0.5.9");
writeEngineSources();
await cargo("cyclonedx", "--manifest-path", manifest, "--format", "json", "--override-filename", "engine.cdx");
renameSync(join(root, "packages/quic/native/engine.cdx.json"), join(out, "engine.cdx.json"));
process.exit(0);
