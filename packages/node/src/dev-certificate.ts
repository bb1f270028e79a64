import { createHash, randomUUID, X509Certificate } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { UnsharedBytes } from "@quicrpc/core";

/** A certificate that a client trusts by its hash (W3C WebTransport §9.4, `serverCertificateHashes`). */
export interface DevCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  /** What a client passes as one of its `serverCertificateHashes`. */
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
 * this user, and made anew a day before it expires.
 */
export async function devCertificate(options: DevCertificateOptions = {}): Promise<DevCertificate> {
  const { hosts = ["localhost", "127.0.0.1", "::1"], directory = defaultDirectory() } = options;
  const name = createHash("sha256").update(hosts.join("\n")).digest("hex").slice(0, 12);
  const path = join(directory, `dev-${name}.pem`);
  const kept = await read(path);
  if (kept !== undefined && isFresh(kept)) return kept;
  // Loaded only now: a server with a certificate of its own never needs it.
  const { makeCertificate } = await import("./make-certificate.js");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (kept !== undefined) await rm(path, { force: true });
  return keep(path, await makeCertificate(hosts));
}

/** Of processes that make one at the same time, all get the one that was written first. */
async function keep(path: string, made: string): Promise<DevCertificate> {
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, made, { mode: 0o600 });
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const first = await read(path);
    if (first !== undefined) return first;
    // Something is there that is no certificate.
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return parse(made);
}

async function read(path: string): Promise<DevCertificate | undefined> {
  try {
    return parse(await readFile(path, "utf8"));
  } catch {
    // Missing, or not what was written: it is made anew.
    return undefined;
  }
}

function isFresh({ validTo }: DevCertificate): boolean {
  return validTo.getTime() - Date.now() > RENEW_BEFORE;
}

function parse(pem: string): DevCertificate {
  const [cert = ""] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(pem) ?? [];
  const [key = ""] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(pem) ?? [];
  const { raw, validTo } = new X509Certificate(cert);
  if (key === "") throw new Error("no private key");
  const value = new Uint8Array(createHash("sha256").update(raw).digest());
  return { cert, key, hash: { algorithm: "sha-256", value }, validTo: new Date(validTo) };
}

function defaultDirectory(): string {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (process.platform === "win32" && LOCALAPPDATA !== undefined) return join(LOCALAPPDATA, "quicrpc");
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "quicrpc");
  return join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "quicrpc");
}
