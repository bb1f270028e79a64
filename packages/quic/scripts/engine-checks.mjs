// Finds faults of an engine that is to be published: it needs a newer glibc than it says, or holds paths of the machine
// that built it.
import { readFileSync } from "node:fs";
import { PLATFORMS } from "./platforms.mjs";

/** Folders of those who build: of people, of CI's runners, of containers and of Windows. */
const PATHS = /(?:\/root\/|\/home\/|\/Users\/|\/work\/|\/builds?\/|[A-Z]:\\Users\\|[A-Z]:\\a\\)[\w./\\ -]{0,120}/g;
const VERSIONS = /GLIBC_(\d+)\.(\d+)/g;

/** Faults of the engine of that platform, in words; none where all is well. */
export function faultsOf(platform, path) {
  const text = readFileSync(path, "latin1");
  const faults = [...new Set(text.match(PATHS))]
    .slice(0, 5)
    .map((found) => `holds a path of the build machine: ${found}`);
  const newest = Array.from(text.matchAll(VERSIONS), ([, major, minor]) => Number(major) * 1000 + Number(minor));
  const allowed = PLATFORMS[platform].glibc ?? "0.0";
  const [major, minor] = allowed.split(".").map(Number);
  const needed = Math.max(0, ...newest);
  if (needed > major * 1000 + minor) {
    faults.push(`needs glibc ${Math.floor(needed / 1000)}.${needed % 1000}, where ${allowed} is the newest it may`);
  }
  return faults;
}
