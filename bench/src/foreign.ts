import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Peer, Skipped } from "./peers.js";

/** A contestant in another language, in a folder of `peers`. */
interface Foreign {
  readonly name: string;
  readonly folder: string;
  /** Programs needed to build it, each with an argument that prints its version. */
  readonly needs: readonly (readonly [command: string, version: string])[];
  readonly advice: string;
  readonly build: (output: string) => readonly string[];
  /** Name of the executable in the output folder. */
  readonly binary: string;
}

const foreign: readonly Foreign[] = [
  {
    name: "gRPC in Go",
    folder: "go",
    needs: [["go", "version"]],
    advice: "install Go 1.26 or later",
    build: (output) => ["go", "build", "-o", join(output, "peer"), "."],
    binary: "peer",
  },
  {
    name: "gRPC in Rust (tonic)",
    folder: "tonic",
    needs: [["cargo", "--version"]],
    advice: "install Rust 1.88 or later",
    build: (output) => ["cargo", "build", "--release", "--locked", "-j1", "--target-dir", output],
    binary: "release/quicrpc-bench-tonic",
  },
  {
    name: "Cap'n Proto over QUIC (Rust, quinn)",
    folder: "capnp",
    needs: [
      ["cargo", "--version"],
      ["capnp", "--version"],
    ],
    advice: "install Rust 1.88 or later and Cap'n Proto: apt-get install capnproto libcapnp-dev",
    build: (output) => ["cargo", "build", "--release", "--locked", "-j1", "--target-dir", output],
    binary: "release/quicrpc-bench-capnp",
  },
];

export const foreignNames: readonly string[] = foreign.map(({ name }) => name);

/** Returns the contestant of that name. Builds it if necessary, into a folder that git ignores. */
export function foreignPeer(name: string): Peer | Skipped {
  const found = foreign.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no contestant in another language is called "${name}"`);
  const { folder, needs, advice, build, binary } = found;
  const missing = needs.find(([command, version]) => spawnSync(command, [version]).status !== 0)?.[0];
  if (missing !== undefined) return { name, skipped: `there is no ${missing} (${advice})` };
  const output = fileURLToPath(new URL(`../.cache/${folder}`, import.meta.url));
  mkdirSync(output, { recursive: true });
  const [command = "", ...args] = build(output);
  process.stderr.write(`building ${name} …\n`);
  const cwd = fileURLToPath(new URL(`../peers/${folder}`, import.meta.url));
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  const joins: Peer["joins"] = (task) => task.do !== "message";
  if (status === 0) return { name, command: [join(output, binary)], joins };
  return { name, skipped: `it cannot be built (${advice}):\n${stderr.trim().split("\n").slice(-8).join("\n")}` };
}
