import { createHash, createPrivateKey, randomUUID, X509Certificate } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkOptions, type OptionNames, type UnsharedBytes } from "@quicrpc/core/internal";
import { cacheDirectory, covers, DEV_HOSTS, readAuthority, splitPem } from "./dev-authority.js";
import type { Issuer } from "./make-certificate.js";

/** A certificate that a client trusts by its hash (W3C WebTransport §9.4, `serverCertificateHashes`). */
export interface DevCertificate {
  /** The certificate, in PEM. */
  readonly cert: string;
  /** The certificate's private key, in PEM (PKCS #8). */
  readonly key: string;
  /** Hash of the certificate, for a client's `serverCertificateHashes`. */
  readonly hash: { readonly algorithm: "sha-256"; readonly value: UnsharedBytes };
  /** Expiry date of the certificate. `devCertificate` replaces the certificate one day earlier. */
  readonly validTo: Date;
  /** Path of the file that contains the certificate and its private key. */
  readonly file: string;
}

/** Options of `devCertificate`. */
export interface DevCertificateOptions {
  /** Host names and addresses that the certificate is valid for. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[];
  /** Folder that stores the certificate. Default: the user's cache folder. */
  readonly directory?: string;
  /** If true, replaces the stored certificate even if it is still valid. Default false. */
  readonly renew?: boolean;
}

const OPTIONS: OptionNames<DevCertificateOptions> = { hosts: true, directory: true, renew: true };

/** Remaining validity in milliseconds (one day) below which a stored certificate is replaced. */
const RENEW_BEFORE = 24 * 3_600_000;

/**
 * Maximum number of attempts to store a certificate while other processes try the same. One process succeeds in each
 * round, so the maximum is reached only if the path is a broken link.
 */
const MAX_TRIES = 1000;

/**
 * Returns an ECDSA P-256 certificate for development: signed by the authority of `devAuthority` if it covers the hosts,
 * otherwise self-signed. The certificate is stored and reused by this user's later calls, also in other processes, and
 * replaced one day before it expires. Rejects if it cannot be stored; the error suggests a remedy.
 */
export async function devCertificate(options: DevCertificateOptions = {}): Promise<DevCertificate> {
  checkOptions("devCertificate()", options, OPTIONS);
  const { hosts = DEV_HOSTS, renew = false } = options;
  let directory = options.directory ?? "the user's cache folder";
  try {
    directory = options.directory ?? cacheDirectory();
    const name = createHash("sha256").update(hosts.join("\n")).digest("hex").slice(0, 12);
    const path = join(directory, `dev-${name}.pem`);
    const authority = await readAuthority(directory);
    const issuer = authority !== undefined && covers(authority, hosts) ? authority : undefined;
    if (renew) await rm(path, { force: true });
    const content = await contentOf(path);
    return fresh(content, path, issuer) ?? (await createAndStore(path, hosts, issuer));
  } catch (error) {
    const { message, code = "" } = error as NodeJS.ErrnoException;
    // Errors of the file system have codes such as EACCES.
    if (!/^E[A-Z]+$/.test(code)) throw error;
    const advice = 'set XDG_CACHE_HOME, or the option "directory", to a writable folder';
    throw new Error(`cannot store a development certificate in ${directory}: ${message}; ${advice}`, { cause: error });
  }
}

/**
 * Creates and stores a certificate. If several processes do this at the same time, all return the certificate that was
 * stored first.
 */
async function createAndStore(
  path: string,
  hosts: readonly string[],
  issuer: Issuer | undefined,
): Promise<DevCertificate> {
  // Loaded only when necessary: a server that has its own certificate never needs this module.
  const { makeCertificate } = await import("./make-certificate.js");
  const created = await makeCertificate(hosts, issuer);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, created, { mode: 0o600 });
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await linked(temporary, path)) return parse(created, path);
      const existing = await contentOf(path);
      const first = fresh(existing, path, issuer);
      if (first !== undefined) return first;
      if (existing !== undefined) await replaceStale(path, digestOf(existing), temporary);
    }
    throw new Error(`${path} exists, but cannot be read or replaced`);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Creates a hard link at `path`. Returns false if a file already exists there. */
async function linked(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Replaces a file that cannot be used. If several processes do this at the same time, the first one succeeds, because
 * all derive the same link name from the replaced content.
 *
 * @param stale digest of the content to replace; another process may have replaced it already
 */
async function replaceStale(path: string, stale: string, created: string): Promise<void> {
  const successor = `${path}.${stale}`;
  const temporary = `${path}.${randomUUID()}`;
  try {
    await linked(created, successor);
    await link(successor, temporary);
    // While the old file exists, the first successor has not been removed, so this file is the first successor.
    const existing = await contentOf(path);
    if (existing !== undefined && digestOf(existing) === stale) await rename(temporary, path);
  } catch (error) {
    // Another process has replaced it in the meantime.
    if (!isMissing(error)) throw error;
  } finally {
    await Promise.all([successor, temporary].map((file) => rm(file, { force: true })));
  }
}

/** Returns the text of a file, or undefined if it does not exist. */
async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/**
 * Returns the stored certificate, or undefined if it is missing, damaged, not valid yet, about to expire, or signed by
 * another issuer.
 */
function fresh(pem: string | undefined, path: string, issuer: Issuer | undefined): DevCertificate | undefined {
  if (pem === undefined) return undefined;
  try {
    const parsed = parse(pem, path);
    const certificate = new X509Certificate(parsed.cert);
    const now = Date.now();
    const isValid = Date.parse(certificate.validFrom) <= now && parsed.validTo.getTime() - now > RENEW_BEFORE;
    const signer = issuer === undefined ? certificate : new X509Certificate(issuer.cert);
    const isSigned = certificate.checkIssued(signer) && certificate.verify(signer.publicKey);
    return isValid && isSigned && certificate.checkPrivateKey(createPrivateKey(parsed.key)) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function parse(pem: string, file: string): DevCertificate {
  const { cert, key } = splitPem(pem);
  const { raw, validTo } = new X509Certificate(cert);
  const value = new Uint8Array(createHash("sha256").update(raw).digest());
  return { cert, key, hash: { algorithm: "sha-256", value }, validTo: new Date(validTo), file };
}
