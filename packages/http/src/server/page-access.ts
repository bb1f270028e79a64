import type { ErrorHook } from "@quicrpc/core";
import { type AllowedOrigins, PageGuard } from "@quicrpc/core/transport";
import type { HttpExchange } from "./exchange.js";

/** Seconds that a browser need not ask again. */
const MAX_AGE = "7200";

/** Decides which pages may call, and tells their browsers (CORS). */
export class PageAccess {
  private readonly guard: PageGuard;

  constructor(allowedOrigins: AllowedOrigins | undefined, onError: ErrorHook) {
    this.guard = new PageGuard({
      allowedOrigins,
      allowedHosts: undefined,
      onError,
      optionsOf: "createFetchHandler",
      warn,
    });
  }

  /** Whether the request goes on; otherwise it was answered. */
  admit(exchange: HttpExchange): boolean {
    const origin = exchange.header("origin");
    if (origin === undefined) return this.admitNamed(exchange);
    const status = this.guard.refusal({ origin, authority: exchange.authority, plainHost: undefined });
    if (status !== undefined) {
      const fields = { "content-type": "text/plain; charset=utf-8", vary: "origin" };
      exchange.respond({ status, fields }, "pages of this origin may not call: allowedOrigins says which may\n");
      return false;
    }
    exchange.added = {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": "*",
      vary: "origin",
    };
    const wanted = exchange.header("access-control-request-method");
    if (exchange.method !== "OPTIONS" || wanted === undefined) return true;
    const headers = exchange.header("access-control-request-headers");
    const fields = {
      "access-control-allow-methods": "GET, POST",
      "access-control-max-age": MAX_AGE,
      ...(headers !== undefined && { "access-control-allow-headers": headers }),
    };
    exchange.respond({ status: 204, fields });
    return false;
  }

  /** A browser sends no origin with a GET that any page may cause, by an image or a link, but says whose page it was (Fetch Metadata). */
  private admitNamed(exchange: HttpExchange): boolean {
    const site = exchange.header("sec-fetch-site");
    if (site !== "cross-site" && site !== "same-site") return true;
    const fields = { "content-type": "text/plain; charset=utf-8", vary: "sec-fetch-site" };
    exchange.respond({ status: 403, fields }, "a page of another origin caused this request, without saying which\n");
    return false;
  }
}

/** Where there is no such function, nobody reads warnings. */
function warn(text: string): void {
  const { process } = globalThis as { process?: { emitWarning?(text: string, options: { code: string }): void } };
  process?.emitWarning?.(text, { code: "QUICRPC_PAGE_REFUSED" });
}
