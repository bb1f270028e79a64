import { createPrivateKey, randomUUID, X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir, hostname, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { checkOptions } from "@quicrpc/core/internal";

/** A certificate authority of this user for development, which browsers can be told to trust. */
export interface DevAuthority {
  /** PEM. */
  readonly cert: string;
  /** Path of the certificate, without its key. */
  readonly file: string;
  /** Common name of the subject. */
  readonly name: string;
  /**
   * Hosts for which it can sign certificates, including their subdomains. Certificates for other hosts are not trusted.
   */
  readonly hosts: readonly string[];
  readonly validTo: Date;
}

/** Options of `devAuthority`. */
export interface DevAuthorityOptions {
  /** Host names and addresses in addition to localhost, 127.0.0.1 and ::1. Default: none. */
  readonly hosts?: readonly string[];
  /** Folder of the files. Default: the user's cache folder. */
  readonly directory?: string;
}

/** Default hosts of a development certificate. */
export const DEV_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "::1"];

/** An authority that expires sooner is replaced, in milliseconds: 30 days. */
const RENEW_BEFORE = 30 * 24 * 3_600_000;
const HOSTS_LINE = /^hosts: (.*)$/m;

/** An authority with its private key in PEM. */
interface KeptAuthority extends DevAuthority {
  readonly key: string;
}

/**
 * Returns this user's development authority. Creates one if there is none that covers all of `hosts`. From then on
 * `devCertificate` returns certificates signed by it. The key is in the folder, and the certificate lists the hosts
 * that it is valid for.
 */
export async function devAuthority(options: DevAuthorityOptions = {}): Promise<DevAuthority> {
  checkOptions("devAuthority()", options, { directory: true, hosts: true });
  const { directory = cacheDirectory() } = options;
  const hosts = [...new Set([...DEV_HOSTS, ...(options.hosts ?? [])])];
  const stored = await readAuthority(directory);
  if (stored !== undefined && covers(stored, hosts)) return publicPart(stored);
  const { makeAuthority } = await import("./make-certificate.js");
  const created = makeAuthority(`quicrpc development of ${userInfo().username} at ${hostname()}`, hosts);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { cert } = splitPem(created);
  await replace(certificateFile(directory), cert, 0o644);
  await replace(authorityFile(directory), `hosts: ${hosts.join(" ")}\n${created}`, 0o600);
  const authority = await readAuthority(directory);
  if (authority === undefined) throw new Error(`the authority in ${directory} cannot be read`);
  return publicPart(authority);
}

/**
 * Returns the development authority that `devAuthority` created, even if it has expired, or undefined if there is none.
 */
export async function existingDevAuthority(
  options: Pick<DevAuthorityOptions, "directory"> = {},
): Promise<DevAuthority | undefined> {
  checkOptions("existingDevAuthority()", options, { directory: true });
  const stored = await readKept(options.directory ?? cacheDirectory());
  return stored && publicPart(stored);
}

/** Reads the authority in a folder. Returns undefined if there is no valid one. */
export async function readAuthority(directory: string): Promise<KeptAuthority | undefined> {
  const stored = await readKept(directory);
  if (stored === undefined) return undefined;
  const validFrom = Date.parse(new X509Certificate(stored.cert).validFrom);
  return validFrom <= Date.now() && stored.validTo.getTime() - Date.now() > RENEW_BEFORE ? stored : undefined;
}

async function readKept(directory: string): Promise<KeptAuthority | undefined> {
  try {
    const text = await readFile(authorityFile(directory), "utf8");
    const { cert, key } = splitPem(text);
    const certificate = new X509Certificate(cert);
    const validTo = new Date(certificate.validTo);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return undefined;
    const hosts = HOSTS_LINE.exec(text)?.[1]?.split(" ") ?? [];
    const name = certificate.subject.replace(/^CN=/, "");
    return { cert, key, file: certificateFile(directory), name, hosts, validTo };
  } catch {
    return undefined;
  }
}

/** Returns true if the authority can sign for all of the hosts. */
export function covers({ hosts: permitted }: Pick<DevAuthority, "hosts">, hosts: readonly string[]): boolean {
  return hosts.every((host) => permitted.some((name) => host === name || host.endsWith(`.${name}`)));
}

function publicPart({ cert, file, name, hosts, validTo }: KeptAuthority): DevAuthority {
  return { cert, file, name, hosts, validTo };
}

function authorityFile(directory: string): string {
  return join(directory, "authority.pem");
}

function certificateFile(directory: string): string {
  return join(directory, "authority.crt");
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, text, { mode });
  await rename(temporary, path);
}

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
