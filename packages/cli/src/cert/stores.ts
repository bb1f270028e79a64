import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";

/** An authority's certificate, as a tool takes it. */
export interface Trusted {
  readonly file: string;
  /** The common name of its subject, by which stores know it. */
  readonly name: string;
}

/** A place where browsers look for authorities, and the commands that change it. */
export interface TrustStore {
  /** The name that people know it by: "Firefox, ~/.mozilla/firefox/x.default". */
  readonly name: string;
  readonly tool: string;
  /** Arguments of the tool that make an empty store; undefined where there is one. */
  readonly make?: readonly string[] | undefined;
  readonly add: (authority: Trusted) => readonly string[];
  readonly remove: (authority: Trusted) => readonly string[];
}

/** The outcome of a change to one store. */
export interface StoreOutcome {
  readonly store: string;
  readonly command: string;
  readonly outcome: "done" | "shown" | "failed" | "no tool";
  /** The tool's own words. */
  readonly detail?: string;
}

/** Databases of NSS, which Chromium and Firefox use on Linux, below the user's folder; `*` is any one folder. */
const NSS: readonly (readonly [browser: string, path: string])[] = [
  ["Chromium", ".pki/nssdb"],
  ["Chromium", ".local/share/pki/nssdb"],
  ["Chromium", "snap/chromium/current/.pki/nssdb"],
  ["Firefox", ".mozilla/firefox/*"],
  ["Firefox", ".config/mozilla/firefox/*"],
  ["Firefox", "snap/firefox/common/.mozilla/firefox/*"],
  ["Firefox", ".var/app/org.mozilla.firefox/.mozilla/firefox/*"],
];

/** Packages that have the tool which is missing on Linux. */
export const NSS_TOOLS = "libnss3-tools (Debian, Ubuntu), nss-tools (Fedora) or nss (Arch)";

/** The stores of this user's browsers. */
export function storesOf(platform: NodeJS.Platform = process.platform, home: string = homedir()): TrustStore[] {
  if (platform === "darwin") {
    const keychain = join(home, "Library", "Keychains", "login.keychain-db");
    const add = ({ file }: Trusted): string[] => ["add-trusted-cert", "-r", "trustRoot", "-k", keychain, file];
    const remove = ({ file }: Trusted): string[] => ["remove-trusted-cert", file];
    return [{ name: "the login keychain: Safari, Chrome, Firefox", tool: "security", add, remove }];
  }
  if (platform === "win32") {
    const add = ({ file }: Trusted): string[] => ["-user", "-addstore", "Root", file];
    const remove = ({ name }: Trusted): string[] => ["-user", "-delstore", "Root", name];
    return [{ name: "this user's root certificates: Edge, Chrome, Firefox", tool: "certutil", add, remove }];
  }
  const found = NSS.flatMap(([browser, path]) =>
    foldersAt(home, path)
      .filter((folder) => existsSync(join(folder, "cert9.db")))
      .map((folder) => nssStore(folder, browser)),
  );
  const chromium = join(home, ".pki/nssdb");
  return existsSync(join(chromium, "cert9.db")) ? found : [nssStore(chromium, "Chromium"), ...found];
}

/** A database of NSS in a folder: that of Chromium on Linux, or of any profile of Firefox. */
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

/** Adds the authority to the store or removes it; with `show` nothing is run. */
export function change(store: TrustStore, what: "add" | "remove", authority: Trusted, show: boolean): StoreOutcome {
  const { name, tool, make } = store;
  const args = store[what](authority);
  const command = [tool, ...args].map(quoted).join(" ");
  const shown = { store: name, command };
  if (show) return { ...shown, outcome: "shown" };
  if (make !== undefined) {
    if (what === "remove") return { ...shown, outcome: "done" };
    mkdirSync((make[2] as string).slice("sql:".length), { recursive: true, mode: 0o700 });
    const made = run(tool, make);
    if (made.outcome !== "done") return { ...shown, ...made };
  }
  const ran = run(tool, args);
  // One that does not have it needs no removal.
  const isMissing = what === "remove" && /could not find|not found/i.test(ran.detail ?? "");
  return { ...shown, ...(isMissing ? { outcome: "done" } : ran) };
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
