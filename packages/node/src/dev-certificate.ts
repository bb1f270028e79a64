import { createHash, createPrivateKey, randomUUID, X509Certificate } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { UnsharedBytes } from "@quicrpc/core/transport";

/** A certificate that a client trusts by its hash (W3C WebTransport §9.4, `serverCertificateHashes`). */
export interface DevCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  /** The certificate's hash, for a client's `serverCertificateHashes`. */
  readonly hash: { readonly algorithm: "sha-256"; readonly value: UnsharedBytes };
  readonly validTo: Date;
}

/** Options of `devCertificate`. */
export interface DevCertificateOptions {
  /** Host names and addresses. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[];
  /** Where it is kept. Default: the user's cache folder. */
  readonly directory?: string;
}

/** A certificate with less than a day left is made anew, in milliseconds. */
const RENEW_BEFORE = 24 * 3_600_000;

/**
 * A self-signed ECDSA P-256 certificate for development. It is kept for the next call, in this process or another of
 * this user, and made anew a day before it expires. Rejects where it cannot be kept, with what to do.
 */
export async function devCertificate(options: DevCertificateOptions = {}): Promise<DevCertificate> {
  const { hosts = ["localhost", "127.0.0.1", "::1"] } = options;
  let directory = options.directory ?? "the user's cache folder";
  try {
    directory = options.directory ?? defaultDirectory();
    const name = createHash("sha256").update(hosts.join("\n")).digest("hex").slice(0, 12);
    const path = join(directory, `dev-${name}.pem`);
    return (await fresh(path)) ?? (await keep(path, hosts));
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    const advice = 'set XDG_CACHE_HOME, or the option "directory", to a folder that can be written to';
    throw new Error(`no development certificate can be kept in ${directory}: ${message}; ${advice}`, { cause: error });
  }
}

/** Makes a certificate and stores it. Processes that do so at the same time all get the one that was written first. */
async function keep(path: string, hosts: readonly string[]): Promise<DevCertificate> {
  // Loaded only now: a server with a certificate of its own never needs it.
  const { makeCertificate } = await import("./make-certificate.js");
  const made = await makeCertificate(hosts);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, made, { mode: 0o600 });
    for (;;) {
      if (await linked(temporary, path)) return parse(made);
      const first = await fresh(path);
      if (first !== undefined) return first;
      await removeStale(path);
    }
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Whether there was nothing at `path` before. */
async function linked(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a file that is no use, unless another process has just replaced it. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    if ((await fresh(aside)) !== undefined) await linked(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Reads a stored certificate; undefined where it is missing, damaged, not valid yet, or about to expire. */
async function fresh(path: string): Promise<DevCertificate | undefined> {
  try {
    const kept = parse(await readFile(path, "utf8"));
    const certificate = new X509Certificate(kept.cert);
    const now = Date.now();
    const isValid = Date.parse(certificate.validFrom) <= now && kept.validTo.getTime() - now > RENEW_BEFORE;
    return isValid && certificate.checkPrivateKey(createPrivateKey(kept.key)) ? kept : undefined;
  } catch {
    return undefined;
  }
}

function parse(pem: string): DevCertificate {
  const [cert = ""] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(pem) ?? [];
  const [key = ""] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(pem) ?? [];
  const { raw, validTo } = new X509Certificate(cert);
  const value = new Uint8Array(createHash("sha256").update(raw).digest());
  return { cert, key, hash: { algorithm: "sha-256", value }, validTo: new Date(validTo) };
}

/** Variables that are empty, or name no absolute folder, count as not set (XDG Base Directory Specification). */
function defaultDirectory(): string {
  const { XDG_CACHE_HOME = "", LOCALAPPDATA = "" } = process.env;
  if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return join(LOCALAPPDATA, "quicrpc");
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "quicrpc");
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), ".cache"), "quicrpc");
}
