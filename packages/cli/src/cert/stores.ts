import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";

/** An authority's certificate in the form that tools for certificate stores accept. */
export interface TrustedAuthority {
  readonly file: string;
  /** Common name of the certificate's subject, which identifies the certificate in a store. */
  readonly name: string;
}

/** A certificate store of a browser or system, with the commands that change it. */
export interface TrustStore {
  /** Display name, such as "Firefox, ~/.mozilla/firefox/x.default". */
  readonly name: string;
  readonly tool: string;
  /** Command-line arguments that create an empty store. Undefined if the store exists. */
  readonly make?: readonly string[] | undefined;
  readonly add: (authority: TrustedAuthority) => readonly string[];
  readonly remove: (authority: TrustedAuthority) => readonly string[];
}

export interface StoreOutcome {
  readonly store: string;
  readonly command: string;
  readonly outcome: "done" | "shown" | "failed" | "no tool";
  /** Output of the command that made the change. */
  readonly detail?: string;
}

/** NSS databases of Chromium and Firefox on Linux, relative to the user's home folder; `*` matches one folder. */
const NSS: readonly (readonly [browser: string, path: string])[] = [
  ["Chromium", ".pki/nssdb"],
  ["Chromium", ".local/share/pki/nssdb"],
  ["Chromium", "snap/chromium/current/.pki/nssdb"],
  ["Firefox", ".mozilla/firefox/*"],
  ["Firefox", ".config/mozilla/firefox/*"],
  ["Firefox", "snap/firefox/common/.mozilla/firefox/*"],
  ["Firefox", ".var/app/org.mozilla.firefox/.mozilla/firefox/*"],
];

/** Names of the Linux packages that contain the command `certutil`. */
export const NSS_TOOLS = "libnss3-tools (Debian, Ubuntu), nss-tools (Fedora) or nss (Arch)";

export function storesOf(platform: NodeJS.Platform = process.platform, home: string = homedir()): TrustStore[] {
  if (platform === "darwin") {
    const keychain = join(home, "Library", "Keychains", "login.keychain-db");
    const add = ({ file }: TrustedAuthority): string[] => ["add-trusted-cert", "-r", "trustRoot", "-k", keychain, file];
    const remove = ({ file }: TrustedAuthority): string[] => ["remove-trusted-cert", file];
    return [{ name: "the login keychain: Safari, Chrome, Firefox", tool: "security", add, remove }];
  }
  if (platform === "win32") {
    const add = ({ file }: TrustedAuthority): string[] => ["-user", "-addstore", "Root", file];
    const remove = ({ name }: TrustedAuthority): string[] => ["-user", "-delstore", "Root", name];
    return [{ name: "this user's root certificates: Edge, Chrome, Firefox", tool: "certutil", add, remove }];
  }
  const browserStores = NSS.flatMap(([browser, path]) =>
    foldersAt(home, path)
      .filter((folder) => existsSync(join(folder, "cert9.db")))
      .map((folder) => nssStore(folder, browser)),
  );
  const chromium = join(home, ".pki/nssdb");
  return existsSync(join(chromium, "cert9.db")) ? browserStores : [nssStore(chromium, "Chromium"), ...browserStores];
}

/** Returns the NSS database in a folder: Chromium's on Linux, or that of a Firefox profile. */
export function nssStore(folder: string, browser?: string): TrustStore {
  const database = ["-d", `sql:${folder}`];
  return {
    name: browser === undefined ? folder : `${browser}: ${folder}`,
    tool: "certutil",
    make: existsSync(join(folder, "cert9.db")) ? undefined : ["-N", ...database, "--empty-password"],
    // C: an authority for servers.
    add: ({ file, name }) => ["-A", ...database, "-t", "C,,", "-n", name, "-i", file],
    remove: ({ name }) => ["-D", ...database, "-n", name],
  };
}

/**
 * Adds the authority's certificate to a store, or removes it. If `show` is true, only returns the command that does it.
 */
export function change(
  store: TrustStore,
  action: "add" | "remove",
  authority: TrustedAuthority,
  show: boolean,
): StoreOutcome {
  const { name, tool, make } = store;
  const args = store[action](authority);
  const command = [tool, ...args].map(quoted).join(" ");
  const summary = { store: name, command };
  if (show) return { ...summary, outcome: "shown" };
  if (make !== undefined) {
    if (action === "remove") return { ...summary, outcome: "done" };
    mkdirSync((make[2] as string).slice("sql:".length), { recursive: true, mode: 0o700 });
    const setUp = run(tool, make);
    if (setUp.outcome !== "done") return { ...summary, ...setUp };
  }
  const ran = run(tool, args);
  // One that does not have it needs no removal.
  const isMissing = action === "remove" && /could not find|not found/i.test(ran.detail ?? "");
  return { ...summary, ...(isMissing ? { outcome: "done" } : ran) };
}

function run(tool: string, args: readonly string[]): Pick<StoreOutcome, "outcome" | "detail"> {
  const { status, error, stderr, stdout } = spawnSync(tool, args, { encoding: "utf8", timeout: 120_000 });
  if (error !== undefined && "code" in error && error.code === "ENOENT") return { outcome: "no tool" };
  if (status === 0) return { outcome: "done" };
  return { outcome: "failed", detail: (stderr || stdout || error?.message || `exit code ${status}`).trim() };
}

function foldersAt(home: string, path: string): string[] {
  if (!path.endsWith("/*")) return [join(home, path)];
  const parent = join(home, path.slice(0, -2));
  try {
    return readdirSync(parent).map((name) => join(parent, name));
  } catch {
    return [];
  }
}

function quoted(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : JSON.stringify(text);
}
