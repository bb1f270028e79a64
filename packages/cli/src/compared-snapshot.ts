import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseSnapshot, type SchemaSnapshot, SNAPSHOT_FILE } from "@quicrpc/codegen";

/** Error of `readAgainst`: the earlier version to compare with cannot be read. The message is written for the user. */
export class SnapshotError extends Error {
  /** Remedy to show to the user. Undefined if there is none. */
  readonly help: string | undefined;

  constructor(message: string, help?: string) {
    super(message);
    this.help = help;
  }
}

/**
 * Reads the version that `reference` names: a file (or a directory that contains one), else a git revision, whose
 * snapshot is next to `lockFile`. Throws `SnapshotError`.
 */
export function readAgainst(reference: string, cwd: string, lockFile: string): SchemaSnapshot {
  const path = resolve(cwd, reference);
  if (existsSync(path)) return parse(readFileSync(snapshotAt(path), "utf8"), snapshotAt(path));
  const snapshotFile = join(dirname(lockFile), SNAPSHOT_FILE);
  try {
    git(["rev-parse", "--verify", "--quiet", `${reference}^{commit}`], dirname(lockFile));
  } catch {
    throw new SnapshotError(`${reference} is neither a file nor a git revision.`);
  }
  let text: string;
  try {
    // "./" makes git look from the directory it runs in.
    text = git(["show", `${reference}:./${SNAPSHOT_FILE}`], dirname(lockFile));
  } catch {
    throw new SnapshotError(
      `${snapshotFile} is not in ${reference}: commit it, with the lock file, to compare with it later.`,
    );
  }
  return parse(text, `${reference}:${SNAPSHOT_FILE}`);
}

function snapshotAt(path: string): string {
  if (statSync(path).isDirectory()) return join(path, SNAPSHOT_FILE);
  return basename(path).endsWith(".lock.json") ? join(dirname(path), SNAPSHOT_FILE) : path;
}

function parse(text: string, name: string): SchemaSnapshot {
  try {
    return parseSnapshot(text);
  } catch (error) {
    throw new SnapshotError(
      `${name} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      "Run quicrpc gen of this version at the old commit, and compare with the file that it writes.",
    );
  }
}

function git(args: readonly string[], cwd: string): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "ignore"] });
}
