import type { ErrorHook } from "./dispatch.js";

/**
 * Origins whose pages may connect although they are from another host than the server: a list, or a function that
 * returns true for such origins.
 */
export type AllowedOrigins = readonly string[] | ((origin: string) => boolean);

export interface PageGuardOptions {
  readonly allowedOrigins: AllowedOrigins | undefined;
  readonly allowedHosts: readonly string[] | undefined;
  readonly onError: ErrorHook;
  /** Name of the function that accepts these options, such as "serve", for warnings. */
  readonly optionsOf: string;
  warn(text: string): void;
}

/** The parts of a request that identify the web page that sent it and the host to which the page connects. */
export interface PageRequest {
  /** The header `Origin`. Browsers add it to every WebSocket and WebTransport request; other programs may omit it. */
  readonly origin: string | undefined;
  /** The header `Host`, or the pseudo-header `:authority`. */
  readonly authority: string | undefined;
  /** Host of the listener's URL if the listener does not use TLS; undefined with TLS. */
  readonly plainHost: string | undefined;
}

/** Maximum number of refusals to log. Limited because the sender chooses the origin. */
const MAX_LOGGED = 100;

/**
 * Decides which web pages may connect: pages of the host that they connect to, and pages of `allowedOrigins`. All
 * listeners of a server share one guard.
 *
 * TLS proves that a page reaches the server by one of the server's own names. Without TLS, any page can make its own
 * host name resolve to this machine's address (DNS rebinding), so the server accepts only known names and IP addresses.
 */
export class PageGuard {
  private readonly options: PageGuardOptions;
  private readonly ownHosts: ReadonlySet<string>;
  private readonly logged: Set<string> = new Set();

  constructor(options: PageGuardOptions) {
    this.options = options;
    const { allowedOrigins, allowedHosts = [] } = options;
    const origins = Array.isArray(allowedOrigins) ? (allowedOrigins as readonly string[]) : [];
    const hosts = [...origins.map(hostOf), ...allowedHosts.map((host) => hostOf(`http://${host}`))];
    this.ownHosts = new Set(hosts.filter((host) => host !== undefined));
  }

  /** Returns the HTTP status with which to refuse a request; undefined if the request is allowed. */
  refusal({ origin, authority = "", plainHost }: PageRequest): 403 | 421 | 500 | undefined {
    if (origin === undefined) return undefined;
    if (this.isRebound({ origin, authority, plainHost })) return 421;
    const host = hostOf(`http://${authority}`);
    if (host !== undefined && hostOf(origin) === host) return undefined;
    try {
      if (this.allows(origin)) return undefined;
    } catch (error) {
      this.options.onError(error, { method: "allowedOrigins" });
      return 500;
    }
    this.log(
      origin,
      `a page of ${shortened(origin)} was refused, which connects to ${shortened(authority)}: pages of other hosts may with ${this.options.optionsOf}({ allowedOrigins: [${shortened(origin)}] })`,
    );
    return 403;
  }

  /** Returns true if a page connects without TLS to a host name that is not the server's (DNS rebinding). */
  isRebound({ origin, authority = "", plainHost }: PageRequest): boolean {
    if (origin === undefined || plainHost === undefined) return false;
    return this.isUnknown(authority, plainHost, `a page of ${shortened(origin)}`);
  }

  /**
   * Returns true and logs a warning if a peer connects without TLS to a host name that is not the server's.
   *
   * @param who describes the peer, for the warning
   */
  isUnknown(authority: string, plainHost: string, who: string): boolean {
    const host = hostOf(`http://${authority}`);
    if (this.isOwn(host, plainHost)) return false;
    const { optionsOf } = this.options;
    this.log(
      `${who} ${authority}`,
      `${who} was refused, which connects to ${shortened(authority)} without TLS: where that is a name of this server, add ${shortened(host ?? authority)} to allowedHosts of ${optionsOf}()`,
    );
    return true;
  }

  private allows(origin: string): boolean {
    const { allowedOrigins = [] } = this.options;
    if (typeof allowedOrigins !== "function") return allowedOrigins.includes(origin);
    const allowed: unknown = allowedOrigins(origin);
    if (typeof allowed === "boolean") return allowed;
    if (allowed instanceof Promise) allowed.catch(() => {});
    throw new TypeError("allowedOrigins must return true or false, not a promise");
  }

  private isOwn(host: string | undefined, listening: string): boolean {
    if (host === undefined) return false;
    // A host that consists of digits and dots is an IPv4 address or invalid (URL standard).
    const isAddress = /^[\d.]+$/.test(host) || host.startsWith("[");
    return isAddress || host === "localhost" || host === hostOf(`http://${listening}`) || this.ownHosts.has(host);
  }

  private log(key: string, text: string): void {
    if (this.logged.size >= MAX_LOGGED || this.logged.has(key)) return;
    this.logged.add(key);
    const last = this.logged.size === MAX_LOGGED ? "; further refusals are not logged" : "";
    this.options.warn(`${text}${last}`);
  }
}

/** Returns the host name of a URL, without the trailing dot of a fully qualified name; undefined if there is none. */
function hostOf(url: string): string | undefined {
  try {
    const host = new URL(url).hostname.replace(/\.$/, "");
    return host === "" ? undefined : host;
  } catch {
    return undefined;
  }
}

/** Quotes text of the peer for a log: shortens it, and replaces control and non-ASCII characters. */
function shortened(text: string): string {
  return JSON.stringify(text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?"));
}
