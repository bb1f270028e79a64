import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const PACKAGES = [
  "@grpc/grpc-js",
  "@connectrpc/connect-node",
  "@trpc/server",
  "@orpc/server",
  "capnweb",
  "socket.io",
  "ws",
  "msgpackr",
  "zod",
];

/** Returns the versions of all contestants by name; those in other languages are read from their lock files. */
export function versions(): Record<string, string> {
  const require = createRequire(import.meta.url);
  const go = text("../../peers/go/go.mod");
  const cargo = text("../../peers/capnp/Cargo.lock");
  const tonic = text("../../peers/tonic/Cargo.lock");
  const crate = (name: string, locked = cargo): string =>
    new RegExp(`name = "${name}"\\nversion = "(.*)"`).exec(locked)?.[1] ?? "?";
  return {
    ...Object.fromEntries(PACKAGES.map((name) => [name, npmVersion(require, name)])),
    "grpc-go": /google\.golang\.org\/grpc v(\S+)/.exec(go)?.[1] ?? "?",
    "capnp-rpc": crate("capnp-rpc"),
    quinn: crate("quinn"),
    tonic: crate("tonic", tonic),
  };
}

/** Reads the package's own file, because `exports` may hide it from `require`. */
function npmVersion(require: NodeJS.Require, name: string): string {
  for (const directory of require.resolve.paths(name) ?? []) {
    try {
      return (JSON.parse(readFileSync(`${directory}/${name}/package.json`, "utf8")) as { version: string }).version;
    } catch {
      // It is further up.
    }
  }
  return "?";
}

function text(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}
