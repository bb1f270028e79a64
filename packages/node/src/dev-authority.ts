import { createPrivateKey, randomUUID, X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir, hostname, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { checkOptions } from "@quicrpc/core/internal";

/**
 * A certificate authority for development that belongs to one user. The user can add it to a browser's trusted
 * authorities.
 */
export interface DevAuthority {
  /** Certificate of the authority, in PEM. */
  readonly cert: string;
  /** Path of the file with the authority's certificate, without its private key. */
  readonly file: string;
  /** Common name of the certificate's subject. */
  readonly name: string;
  /**
   * Hosts that the authority can sign certificates for, including their subdomains. Clients reject its certificates for
   * any other host.
   */
  readonly hosts: readonly string[];
  readonly validTo: Date;
}

/** Options of `devAuthority`. */
export interface DevAuthorityOptions {
  /** Host names and addresses in addition to localhost, 127.0.0.1 and ::1. Default: none. */
  readonly hosts?: readonly string[];
  /** Folder that stores the authority. Default: the user's cache folder. */
  readonly directory?: string;
}

export const DEV_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "::1"];

/** Remaining validity in milliseconds (30 days) below which an authority is replaced. */
const RENEW_BEFORE = 30 * 24 * 3_600_000;
const HOSTS_LINE = /^hosts: (.*)$/m;

interface KeptAuthority extends DevAuthority {
  readonly key: string;
}

/**
 * Returns this user's development authority, and creates one if no existing authority covers all of `hosts`. Afterwards
 * `devCertificate` returns certificates signed by this authority. The private key is stored in `directory`. The
 * authority's certificate restricts it to these hosts.
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

/** Returns the authority that `devAuthority` created, even if it has expired. Returns undefined if there is none. */
export async function existingDevAuthority(
  options: Pick<DevAuthorityOptions, "directory"> = {},
): Promise<DevAuthority | undefined> {
  checkOptions("existingDevAuthority()", options, { directory: true });
  const stored = await readKept(options.directory ?? cacheDirectory());
  return stored && publicPart(stored);
}

/** Reads the development authority from a folder. Returns undefined if the folder contains no valid authority. */
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
 * Returns this user's cache folder for development certificates. Ignores environment variables that are empty or not an
 * absolute path (XDG Base Directory Specification).
 */
export function cacheDirectory(): string {
  const { XDG_CACHE_HOME = "", LOCALAPPDATA = "" } = process.env;
  if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return join(LOCALAPPDATA, "quicrpc");
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "quicrpc");
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), ".cache"), "quicrpc");
}

export function splitPem(text: string): { readonly cert: string; readonly key: string } {
  const [cert = ""] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(text) ?? [];
  const [key = ""] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text) ?? [];
  return { cert, key };
}
