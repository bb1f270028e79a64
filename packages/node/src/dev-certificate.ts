import { createHash, createPrivateKey, randomUUID, X509Certificate } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkOptions, type OptionNames, type UnsharedBytes } from "@quicrpc/core/transport";
import { covers, DEV_HOSTS, readAuthority } from "./dev-authority.js";
import { cacheDirectory, splitPem } from "./dev-files.js";
import type { Issuer } from "./make-certificate.js";

/** A certificate that a client trusts by its hash (W3C WebTransport §9.4, `serverCertificateHashes`). */
export interface DevCertificate {
  /** The certificate, in PEM. */
  readonly cert: string;
  /** The private key, in PEM (PKCS #8). */
  readonly key: string;
  /** The certificate's hash, for a client's `serverCertificateHashes`. */
  readonly hash: { readonly algorithm: "sha-256"; readonly value: UnsharedBytes };
  /** When it expires; it is made anew a day before. */
  readonly validTo: Date;
  /** The file that certificate and key are kept in. */
  readonly file: string;
}

/** Options of `devCertificate`. */
export interface DevCertificateOptions {
  /** Host names and addresses. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[];
  /** Where it is kept. Default: the user's cache folder. */
  readonly directory?: string;
  /** Makes another one in place of that which is kept. Default false. */
  readonly renew?: boolean;
}

const OPTIONS: OptionNames<DevCertificateOptions> = { hosts: true, directory: true, renew: true };

/** A certificate with less than a day left is made anew, in milliseconds. */
const RENEW_BEFORE = 24 * 3_600_000;

/** Attempts to put a certificate where others do so too: one of all succeeds in each. More are needed only where a link leads nowhere. */
const MAX_TRIES = 1000;

/**
 * An ECDSA P-256 certificate for development, signed by itself, or by the authority of `devAuthority` where there is one for its hosts. It is kept for
 * the next call, in this process or another of this user, and made anew a day before it expires. Rejects where it cannot be kept, with what to do.
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
    const kept = await contentOf(path);
    return fresh(kept, path, issuer) ?? (await keep(path, hosts, issuer));
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    const advice = 'set XDG_CACHE_HOME, or the option "directory", to a folder that can be written to';
    throw new Error(`no development certificate can be kept in ${directory}: ${message}; ${advice}`, { cause: error });
  }
}

/** Makes a certificate and stores it. Processes that do so at the same time all get the one that was written first. */
async function keep(path: string, hosts: readonly string[], issuer: Issuer | undefined): Promise<DevCertificate> {
  // Loaded only now: a server with a certificate of its own never needs it.
  const { makeCertificate } = await import("./make-certificate.js");
  const made = await makeCertificate(hosts, issuer);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, made, { mode: 0o600 });
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await linked(temporary, path)) return parse(made, path);
      const there = await contentOf(path);
      const first = fresh(there, path, issuer);
      if (first !== undefined) return first;
      if (there !== undefined) await replaceStale(path, digestOf(there), temporary);
    }
    throw new Error(`${path} is there, and cannot be read or replaced`);
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

/**
 * Puts a successor in the place of a file that is no use. Of all who do so at the same time it is the first one's: they find it by a name that is made
 * of what they replace.
 *
 * @param stale the digest of what was found to be no use: another may be there by now
 */
async function replaceStale(path: string, stale: string, made: string): Promise<void> {
  const successor = `${path}.${stale}`;
  const own = `${path}.${randomUUID()}`;
  try {
    await linked(made, successor);
    await link(successor, own);
    // As long as the old one is there nobody has removed the first successor, so that this is it.
    const there = await contentOf(path);
    if (there !== undefined && digestOf(there) === stale) await rename(own, path);
  } catch (error) {
    // Another has replaced it meanwhile.
    if (!isMissing(error)) throw error;
  } finally {
    await Promise.all([successor, own].map((file) => rm(file, { force: true })));
  }
}

/** Text of a file; undefined where there is none. */
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

/** A certificate that was kept; undefined where it is missing, damaged, not valid yet, about to expire, or not by the issuer. */
function fresh(pem: string | undefined, path: string, issuer: Issuer | undefined): DevCertificate | undefined {
  if (pem === undefined) return undefined;
  try {
    const kept = parse(pem, path);
    const certificate = new X509Certificate(kept.cert);
    const now = Date.now();
    const isValid = Date.parse(certificate.validFrom) <= now && kept.validTo.getTime() - now > RENEW_BEFORE;
    const signer = issuer === undefined ? certificate : new X509Certificate(issuer.cert);
    const isSigned = certificate.checkIssued(signer) && certificate.verify(signer.publicKey);
    return isValid && isSigned && certificate.checkPrivateKey(createPrivateKey(kept.key)) ? kept : undefined;
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
