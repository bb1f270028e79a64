import { existsSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { QuicError } from "./errors.js";
import { LAYOUT } from "./native-layout.js";

/**
 * URL of this module. Undefined in CommonJS output of esbuild. It is preferred to `__filename`, because code passed to
 * `node --eval` and evaluated workers have a global `__filename` that is not a path.
 */
const moduleUrl: string | undefined = import.meta.url;

/**
 * Path of this module, or of the bundle that contains it. Bundlers must not recognise that other paths derive from it,
 * because they would then try to bundle the native engine.
 */
const moduleFile = moduleUrl === undefined ? __filename : fileURLToPath(moduleUrl);
const root = dirname(dirname(moduleFile));
// By another name: webpack would follow what this requires.
const { createRequire: requireFor } = nodeModule;
const requireHere = requireFor(moduleFile);

/**
 * Loads the native engine for this platform: the one built in this checkout, otherwise the one in the platform's npm
 * package.
 */
export function loadEngine(): unknown {
  const platform = platformName();
  const built = join(root, "prebuilds", `${platform}.node`);
  const path = existsSync(built) ? built : published(platform);
  if (path === undefined) throw unavailable(platform, whyAbsent(platform));
  const engine = required(path, platform);
  if (engine.LAYOUT !== LAYOUT) throw unavailable(platform, otherLayout(path, path === built));
  return engine;
}

function required(path: string, platform: string): { LAYOUT?: number } {
  try {
    return requireHere(path) as { LAYOUT?: number };
  } catch (cause) {
    throw unavailable(platform, reasonOf(cause), cause);
  }
}

/**
 * Returns the error message for a native engine whose version differs from this package's. Such an engine must not be
 * used, because both sides would misread each other's records and hang.
 */
function otherLayout(path: string, isBuiltHere: boolean): string {
  const remedy = isBuiltHere
    ? 'Rebuild both with "npm run build"'
    : "Delete node_modules and install again, so that both have the same version; rebuild bundles";
  return `the engine in ${path} has another version than @quicrpc/quic in ${moduleFile}. ${remedy}`;
}

/**
 * Returns the name of this platform in engine package names. Must be the same as `platformName` in
 * scripts/platforms.mjs.
 */
function platformName(): string {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === "linux" ? `${name}-${isMusl() ? "musl" : "gnu"}` : name;
}

function isMusl(): boolean {
  try {
    // Without this a report resolves the names of open sockets, which takes seconds behind a slow DNS server.
    Object.assign(process.report, { excludeNetwork: true });
    const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
    return header.glibcVersionRuntime === undefined;
  } catch {
    return false;
  }
}

/**
 * Returns the path of the native engine in the platform's npm package, resolved from this package or from the running
 * program. Undefined if it is not installed.
 */
function published(platform: string): string | undefined {
  const [, program] = process.argv;
  for (const require of [requireHere, ...(program === undefined ? [] : [requireFor(resolve(program))])]) {
    try {
      return require.resolve(`@quicrpc/quic-${platform}`);
    } catch {
      // The next may find it.
    }
  }
  return undefined;
}

function whyAbsent(platform: string): string {
  const names = enginePackages();
  const name = `@quicrpc/quic-${platform}`;
  if (names === undefined) {
    return `${name} was found neither from ${moduleFile} nor from the running program. A bundle needs it in a node_modules folder above it: install it there, or mark @quicrpc/quic as external for the bundler`;
  }
  if (names.length === 0) {
    return 'it has not been built. Build it with "npm run build:native -w @quicrpc/quic" (needs Rust)';
  }
  if (names.includes(name)) {
    return `${name} is not installed. Install with optional dependencies; if the lockfile was written on another platform by npm 10 or older, delete node_modules and package-lock.json and install again`;
  }
  const otherPackages = names.map((other) => other.slice("@quicrpc/quic-".length)).join(", ");
  return `there is no engine for it (there is one for ${otherPackages})`;
}

/**
 * Returns the names of the npm packages that contain the native engine. Empty in a source checkout, undefined in a
 * bundle.
 */
function enginePackages(): string[] | undefined {
  try {
    const text = readFileSync(join(root, "package.json"), "utf8");
    const { name, optionalDependencies = {} } = JSON.parse(text) as { name?: string; optionalDependencies?: object };
    return name === "@quicrpc/quic" ? Object.keys(optionalDependencies) : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const glibc = /GLIBC_([\d.]+)/.exec(text);
  if (glibc !== null) return `the engine requires glibc ${glibc[1]} or newer, which this system does not have`;
  return `the engine could not be loaded: ${text}`;
}

function unavailable(platform: string, reason: string, cause?: unknown): QuicError {
  return new QuicError({
    source: "system",
    code: "ERR_QUIC_NATIVE_MISSING",
    message: `QUIC is not available on ${platform}: ${reason}. Without it, @quicrpc/node serves and connects over wss:// and tls://, and @quicrpc/http over HTTP (docs/platforms.md)`,
    cause,
  });
}
