import { packages } from "./layers.mjs";
import { run } from "./setup.mjs";

/**
 * Files that differ from the branch main, or from the last commit where this is main itself: committed, changed or new. Undefined where
 * there is no git, as in a container.
 */
export async function changedFiles() {
  const [head, ...bases] = await Promise.all(["HEAD", "origin/main", "main"].map((name) => git("rev-parse", name)));
  if (head === "") return undefined;
  const base = bases.find((commit) => commit !== "" && commit !== head);
  const since = base === undefined ? "HEAD~1" : await git("merge-base", "HEAD", base);
  const lists = await Promise.all([
    git("diff", "--name-only", since),
    git("ls-files", "--others", "--exclude-standard"),
  ]);
  return lists.flatMap((list) => list.split("\n")).filter(Boolean);
}

/** The packages that hold these files, and all that depend on them. */
export function affectedPackages(files) {
  const affected = new Set(files.flatMap((file) => /^packages\/([^/]+)\//.exec(file)?.slice(1) ?? []));
  let size;
  do {
    size = affected.size;
    for (const [name, { imports }] of Object.entries(packages)) {
      if (imports.some((other) => affected.has(other))) affected.add(name);
    }
  } while (affected.size > size);
  return [...affected];
}

async function git(...args) {
  const { code, output } = await run(args, { command: "git", capture: true });
  return code === 0 ? output.trim() : "";
}
