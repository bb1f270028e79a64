import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * Returns this user's folder for development certificates. Ignores variables that are empty or not an absolute path
 * (XDG Base Directory Specification).
 */
export function cacheDirectory(): string {
  const { XDG_CACHE_HOME = "", LOCALAPPDATA = "" } = process.env;
  if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return join(LOCALAPPDATA, "quicrpc");
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "quicrpc");
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), ".cache"), "quicrpc");
}

/** Splits a PEM text into certificate and key. */
export function splitPem(text: string): { readonly cert: string; readonly key: string } {
  const [cert = ""] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(text) ?? [];
  const [key = ""] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text) ?? [];
  return { cert, key };
}
