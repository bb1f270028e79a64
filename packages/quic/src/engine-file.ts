import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { QuicError } from "./errors.js";

const require = createRequire(import.meta.url);

/** Loads the engine for this platform: one that was built here, or else that of the platform's own package. */
export function loadEngine(): unknown {
  const platform = platformName();
  const built = fileURLToPath(new URL(`../prebuilds/${platform}.node`, import.meta.url));
  const path = existsSync(built) ? built : published(platform);
  if (path === undefined) throw unavailable(platform, whyAbsent(platform));
  try {
    return require(path);
  } catch (cause) {
    throw unavailable(platform, reasonOf(cause), cause);
  }
}

/** Mirrors `platformName` in scripts/platforms.mjs. */
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

/** The path of the engine in the platform's package, where that is installed. */
function published(platform: string): string | undefined {
  try {
    return require.resolve(`@quicrpc/quic-${platform}`);
  } catch {
    return undefined;
  }
}

/** Why there is no engine, and how to get one. */
function whyAbsent(platform: string): string {
  const names = enginePackages();
  const name = `@quicrpc/quic-${platform}`;
  if (names.length === 0) {
    return 'it has not been built. Build it with "npm run build:native -w @quicrpc/quic" (needs Rust)';
  }
  if (names.includes(name)) {
    return `${name} is not installed. Install with optional dependencies; where the lockfile was written on another platform by npm 10 or older, delete node_modules and package-lock.json and install again`;
  }
  const others = names.map((other) => other.slice("@quicrpc/quic-".length)).join(", ");
  return `there is no engine for it (there is one for ${others})`;
}

/** Packages with an engine, as the published package.json lists them; none in a source checkout. */
function enginePackages(): string[] {
  try {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    return Object.keys((JSON.parse(text) as { optionalDependencies?: object }).optionalDependencies ?? {});
  } catch {
    return [];
  }
}

function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const glibc = /GLIBC_([\d.]+)/.exec(text);
  if (glibc !== null) return `the engine needs glibc ${glibc[1]} or newer, which this system does not have`;
  return `the engine could not be loaded: ${text}`;
}

function unavailable(platform: string, why: string, cause?: unknown): QuicError {
  return new QuicError({
    source: "system",
    code: "ERR_QUIC_NATIVE_MISSING",
    message: `QUIC is not available on ${platform}: ${why}. Without it, @quicrpc/node serves and connects over wss:// and tls:// (docs/platforms.md)`,
    cause,
  });
}
