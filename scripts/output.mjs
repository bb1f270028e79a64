// Compares the compiler's output with the sources: Node built-ins only.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Endings of the files that the compiler makes of one source. */
const COMPILED = /\.(js|d\.ts)(\.map)?$/;
const SOURCE = /(?<!\.d)\.tsx?$/;
const TEST = /\.test\.tsx?$/;

/** Names of a folder's projects. A folder without a package.json holds what another version of the checkout has left. */
export function projectsIn(folder) {
  return readdirSync(folder).filter((name) => existsSync(join(folder, name, "package.json")));
}

/**
 * Makes packages' output what `tsc -b` believes it to be. Output of sources that are gone is deleted: it would still be found, and
 * packed. Where output of a source is missing, as after a build that was ended or a folder that somebody deleted, the compiler
 * forgets what it built there: it goes by its own notes, and looks for no files.
 */
export function mendOutput(packages) {
  for (const name of readdirSync(packages)) {
    const folder = join(packages, name);
    if (!existsSync(join(folder, "src")) || !existsSync(join(folder, "tsconfig.json"))) continue;
    const [src, dist] = ["src", "dist"].map((part) => filesOf(join(folder, part)));
    const sources = new Set(src.filter((file) => SOURCE.test(file)).map((file) => file.replace(SOURCE, "")));
    for (const file of dist) {
      if (COMPILED.test(file) && !sources.has(file.replace(COMPILED, ""))) rmSync(join(folder, "dist", file));
    }
    const written = new Set(dist);
    const wanted = src.filter((file) => SOURCE.test(file) && !TEST.test(file));
    if (wanted.every((file) => written.has(file.replace(SOURCE, ".js")))) continue;
    rmSync(join(folder, "tsconfig.tsbuildinfo"), { force: true });
  }
}

function filesOf(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
}
