import type { ErrorHook } from "./dispatch.js";

/** Origins of pages of other hosts that may connect: a list, or a test. */
export type AllowedOrigins = readonly string[] | ((origin: string) => boolean);

/** Options that decide which pages may connect. */
export interface PageGuardOptions {
  readonly allowedOrigins: AllowedOrigins | undefined;
  readonly allowedHosts: readonly string[] | undefined;
  readonly onError: ErrorHook;
  /** Name of the function with these options, for warnings: "serve". */
  readonly optionsOf: string;
  /** Called with a warning about each refused page. */
  warn(text: string): void;
}

/** The part of a request that identifies the page it comes from, and the host that the page connects to. */
export interface PageRequest {
  /** The header `Origin`: browsers add it to every request for a WebSocket or WebTransport, programs need not. */
  readonly origin: string | undefined;
  /** The header `Host`, or `:authority`. */
  readonly authority: string | undefined;
  /** The host of the listener's URL if it has no TLS; undefined with TLS. */
  readonly plainHost: string | undefined;
}

/** Most refusals that are logged, because the sender can choose any origin. */
const MAX_LOGGED = 100;

/**
 * Decides which pages may connect: pages of the same host as the server, under the address that they use for it, and
 * pages in the list. All listeners of a server share one guard.
 *
 * TLS proves that a page reaches the server by one of the server's own names. Without TLS, any page can have its own
 * name resolve to this machine's address (DNS rebinding), so the server accepts only names that it knows, and
 * addresses.
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

  /** Returns the HTTP status that refuses a request; undefined if the request may pass. */
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
      `a page of ${shown(origin)} was refused, which connects to ${shown(authority)}: pages of other hosts may with ${this.options.optionsOf}({ allowedOrigins: [${shown(origin)}] })`,
    );
    return 403;
  }

  /** Returns true if a page connects without TLS under a name that is not the server's. */
  isRebound({ origin, authority = "", plainHost }: PageRequest): boolean {
    if (origin === undefined || plainHost === undefined) return false;
    return this.isUnknown(authority, plainHost, `a page of ${shown(origin)}`);
  }

  /**
   * Returns true, and logs it, if a peer used an unknown name to reach this server without TLS.
   * @param who describes the refused peer
   */
  isUnknown(authority: string, plainHost: string, who: string): boolean {
    const host = hostOf(`http://${authority}`);
    if (this.isOwn(host, plainHost)) return false;
    const { optionsOf } = this.options;
    this.log(
      `${who} ${authority}`,
      `${who} was refused, which connects to ${shown(authority)} without TLS: where that is a name of this server, add ${shown(host ?? authority)} to allowedHosts of ${optionsOf}()`,
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
    // A host that ends in a digit is an IPv4 address, or invalid (URL standard).
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

/** Returns the host of a URL, without the trailing dot of a fully qualified name; undefined if it has none. */
function hostOf(url: string): string | undefined {
  try {
    const host = new URL(url).hostname.replace(/\.$/, "");
    return host === "" ? undefined : host;
  } catch {
    return undefined;
  }
}

/** Shortens a peer's text, and removes control characters for terminals. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?"));
}
