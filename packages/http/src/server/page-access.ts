import { type AllowedOrigins, type ErrorHook, PageGuard } from "@quicrpc/core/internal";
import { type HttpExchange, isGet } from "./exchange.js";

/** Seconds for which a browser may cache the response to a preflight request. */
const MAX_AGE = "7200";

export interface PageAccessOptions {
  readonly allowedOrigins?: AllowedOrigins | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly host?: { readonly optionsOf: string } | undefined;
}

/** Decides which web pages may call the server, and tells their browsers (CORS). */
export class PageAccess {
  private readonly guard: PageGuard;
  private readonly knowsNames: boolean;
  /** The last host and port that were found to be a name of this server. */
  private ownName: string | undefined = undefined;

  constructor({ allowedOrigins, allowedHosts, host }: PageAccessOptions, onError: ErrorHook) {
    this.knowsNames = allowedHosts !== undefined;
    const { optionsOf = "createFetchHandler" } = host ?? {};
    this.guard = new PageGuard({ allowedOrigins, allowedHosts, onError, optionsOf, warn });
  }

  /**
   * Returns true if the request may continue; if not, an error was sent.
   * @param verbs HTTP methods that allowed pages may use
   */
  admit(exchange: HttpExchange, verbs: string): boolean {
    const origin = exchange.header("origin");
    // The response depends on the page's origin, and caches may store responses to GET.
    const added = isGet(exchange) ? VARY_BY_ORIGIN : undefined;
    exchange.added = added;
    if (origin === undefined) return !this.refusesName(exchange, origin) && admitNamed(exchange);
    const status = this.guard.refusal({ origin, authority: exchange.authority, plainHost: undefined });
    if (status !== undefined) {
      refuse(exchange, status, "pages of this origin may not call: allowedOrigins says which may\n");
      return false;
    }
    if (this.refusesName(exchange, origin)) return false;
    exchange.added = { ...added, "access-control-allow-origin": origin, "access-control-expose-headers": "*" };
    return !answeredPreflight(exchange, verbs);
  }

  private refusesName(exchange: HttpExchange, origin: string | undefined): boolean {
    if (!this.isRebound(exchange, origin)) return false;
    refuse(exchange, 421, "this server has another name: allowedHosts says by which it is reached without TLS\n");
    return true;
  }

  /**
   * Returns true if the host that a client addressed is not a name of this server. Any page can make its own name
   * resolve to this server (DNS rebinding). TLS prevents that, and so does a page of the same name over TLS, if a proxy
   * terminates TLS. A GET request of a browser does not name its page, so a server at a loopback address, or one with
   * the option `allowedHosts`, refuses all other names.
   */
  private isRebound(exchange: HttpExchange, origin: string | undefined): boolean {
    const { authority } = exchange;
    if (authority === undefined || authority === this.ownName || exchange.isSecure) return false;
    if (origin !== undefined) {
      return !isOverTls(origin, authority) && this.guard.isRebound({ origin, authority, plainHost: "" });
    }
    if (!this.knowsNames && !exchange.isLoopback) return false;
    const isUnknown = this.guard.isUnknown(authority, "", "a request");
    if (!isUnknown) this.ownName = authority;
    return isUnknown;
  }
}

const VARY_BY_ORIGIN = { vary: "origin" } as const;

function isOverTls(origin: string, authority: string): boolean {
  const named = `https://${authority}`;
  if (!origin.startsWith("https:") || !URL.canParse(origin) || !URL.canParse(named)) return false;
  return new URL(origin).hostname === new URL(named).hostname;
}

/**
 * Returns false for a GET request that a page of another origin has caused, for example by an image or a link. Browsers
 * send no origin with such a request, but they send Fetch Metadata.
 */
function admitNamed(exchange: HttpExchange): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== "cross-site" && site !== "same-site") return true;
  exchange.added = { vary: "origin, sec-fetch-site" };
  refuse(exchange, 403, "a page of another origin caused this request, without saying which\n");
  return false;
}

function answeredPreflight(exchange: HttpExchange, verbs: string): boolean {
  const wanted = exchange.header("access-control-request-method");
  if (exchange.method !== "OPTIONS" || wanted === undefined) return false;
  const headers = exchange.header("access-control-request-headers");
  const fields = {
    "access-control-allow-methods": verbs,
    "access-control-max-age": MAX_AGE,
    ...(headers !== undefined && { "access-control-allow-headers": headers }),
  };
  exchange.respond({ status: 204, fields });
  return true;
}

function refuse(exchange: HttpExchange, status: number, text: string): void {
  exchange.respond({ status, fields: { "content-type": "text/plain; charset=utf-8" } }, text);
}

function warn(text: string): void {
  const { process } = globalThis as { process?: { emitWarning?(text: string, options: { code: string }): void } };
  process?.emitWarning?.(text, { code: "QUICRPC_PAGE_REFUSED" });
}
