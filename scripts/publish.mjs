// Publishes packed tarballs in the order of their folders: `node scripts/publish.mjs <folder> [--dry-run]`. An
// identical published package is skipped, so that a failed run can be repeated. Uses only Node built-ins, and runs no
// code of the packages.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const HEADER = 512;
const [folder, option] = process.argv.slice(2);

/** package.json of a tarball: a tar archive is a header of 512 bytes and the file, padded to such blocks, again and again. */
function manifestOf(tarball) {
  const tar = gunzipSync(tarball);
  for (let at = 0; at + HEADER <= tar.length; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*/s, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8) || 0;
    if (name === "package/package.json") return JSON.parse(tar.toString("utf8", at + HEADER, at + HEADER + size));
    at += HEADER + Math.ceil(size / HEADER) * HEADER;
  }
  throw new Error("a tarball has no package/package.json");
}

function npm(...args) {
  return spawnSync("npm", args, { encoding: "utf8", shell: process.platform === "win32" });
}

/** The integrity of a published version; undefined where there is none. Throws where the registry does not say. */
function publishedIntegrity(name, version) {
  const { status, stdout, stderr } = npm("view", `${name}@${version}`, "dist.integrity", "--json");
  if (status === 0) return stdout.trim() === "" ? undefined : JSON.parse(stdout);
  if (/E404/.test(stdout + stderr)) return undefined;
  throw new Error(`npm view ${name}: ${stderr || stdout}`);
}

const tarballs = readdirSync(folder)
  .sort((a, b) => Number(a) - Number(b))
  .flatMap((turn) => readdirSync(join(folder, turn)).map((file) => join(folder, turn, file)))
  .filter((path) => path.endsWith(".tgz"));
if (tarballs.length === 0) throw new Error(`${folder} has no tarballs`);

for (const path of tarballs) {
  const bytes = readFileSync(path);
  const { name, version } = manifestOf(bytes);
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const there = publishedIntegrity(name, version);
  if (there === integrity) {
    console.log(`${name} ${version}: is published already`);
    continue;
  }
  if (there !== undefined)
    throw new Error(`${name} ${version} is published with other contents; a version is never used twice`);
  const provenance = process.env.GITHUB_ACTIONS === "true" ? ["--provenance"] : [];
  const tag = version.includes("-") ? ["--tag", "next"] : [];
  const dry = option === "--dry-run" ? ["--dry-run"] : [];
  const { status, stdout, stderr } = npm(
    "publish",
    path,
    "--ignore-scripts",
    "--access",
    "public",
    ...provenance,
    ...tag,
    ...dry,
  );
  if (status !== 0) throw new Error(`npm publish ${name}: ${stderr || stdout}`);
  console.log(`${name} ${version}: ${dry.length > 0 ? "would be" : "is"} published`);
}
