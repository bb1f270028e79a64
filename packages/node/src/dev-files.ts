import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * The folder of this user that certificates for development are kept in. Variables that are empty, or name no absolute folder, count as not
 * set (XDG Base Directory Specification).
 */
export function cacheDirectory(): string {
  const { XDG_CACHE_HOME = "", LOCALAPPDATA = "" } = process.env;
  if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return join(LOCALAPPDATA, "quicrpc");
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "quicrpc");
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), ".cache"), "quicrpc");
}

/** The certificate and the key in a text of both, as PEM. */
export function splitPem(text: string): { readonly cert: string; readonly key: string } {
  const [cert = ""] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(text) ?? [];
  const [key = ""] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text) ?? [];
  return { cert, key };
}
