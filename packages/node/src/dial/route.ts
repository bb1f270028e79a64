import { type Session, TransportError } from "@quicrpc/core";
import { publicUrl } from "@quicrpc/core/internal";

/**
 * Minimum lifetime in milliseconds of a session that ends a chain of redirects. If a session lasted longer, the address
 * that its server redirects to does not count as part of a redirect loop. Servers may restart within a second.
 */
const LASTING_MS = 250;
/** Maximum length of a chain of redirects, and maximum number of addresses that are reported to the application. */
const MAX_ADDRESSES = 16;

export type TrustedAddresses = readonly (string | URL)[] | ((url: string) => boolean);

/** Reasons for not following the redirect of a draining server. The codes are listed in docs/error-codes.md. */
interface RouteErrorCodes {
  /** A draining server redirected the client to an address that is not a URL. */
  readonly ERR_GOAWAY_ADDRESS: "goaway";
  /**
   * A draining server redirected the client to an address that the client does not trust.
   *
   * Add the address to `allowedRedirects`.
   */
  readonly ERR_GOAWAY_UNTRUSTED: "goaway";
  /**
   * The address to which a draining server redirected the client could not be reached. The connection uses its own URL.
   */
  readonly ERR_GOAWAY_UNREACHABLE: "goaway";
  /**
   * Draining servers redirect the client to each other in a loop. The connection tries its own URL first, and waits
   * longer before each attempt.
   */
  readonly ERR_GOAWAY_LOOP: "goaway";
}

export interface RouteOptions<S extends Session> {
  readonly ownUrl: string | URL;
  /** Creates a session with the connection's own URL. Like `dialTo`, it must settle within a limited time. */
  readonly dial: (signal: AbortSignal) => Promise<S>;
  readonly dialTo: (url: string, signal: AbortSignal) => Promise<S>;
  readonly allowedRedirects?: TrustedAddresses | undefined;
  /**
   * Receives the reason why a redirect is not followed, or why its address does not answer. Called once for each
   * address.
   */
  readonly onError: (error: Error) => void;
}

/**
 * Creates the sessions of a connection whose servers may redirect it when they drain: `createConnection((signal, left)
 * => route.dial(signal, left))`. A trusted address is used until the next redirect. If it does not answer, its session
 * ends early, or it is part of a redirect loop, the connection uses its own URL again.
 */
export class Route<S extends Session> {
  private readonly options: RouteOptions<S>;
  private readonly ownUrl: string;
  private readonly allowedRedirects: (url: string) => boolean;
  /** Address of the last redirect, or undefined if the connection uses its own URL. */
  private lead: string | undefined = undefined;
  /** True if the redirect address is part of a loop. The connection's own URL is then tried first. */
  private circles = false;
  /** Time at which the last session was created, in milliseconds since the epoch. */
  private madeAt: number = Number.NEGATIVE_INFINITY;
  /** The last session whose redirect was evaluated. */
  private followed: S | undefined = undefined;
  /** Addresses of the current chain of redirects. Undefined if the last session ended the chain. */
  private leftAddresses: Set<string> | undefined = undefined;
  private reported: Set<string> | undefined = undefined;

  constructor(options: RouteOptions<S>) {
    const { ownUrl, allowedRedirects = trustsNone } = options;
    this.options = options;
    this.ownUrl = addressOf(ownUrl) ?? String(ownUrl);
    this.allowedRedirects = typeof allowedRedirects === "function" ? allowedRedirects : isListed(allowedRedirects);
  }

  /**
   * Creates the next session of the connection.
   *
   * @param draining the draining session that the new one replaces; undefined if a session was lost
   */
  async dial(signal: AbortSignal, draining: S | undefined): Promise<S> {
    if (draining === undefined) {
      if (!this.hasLasted) this.lead = undefined;
    } else if (draining !== this.followed) {
      this.followed = draining;
      this.followGoaway(draining);
    }
    const { lead, circles } = this;
    if (lead === undefined || circles) {
      try {
        return await this.dialOwnUrl(signal);
      } catch (error) {
        if (lead === undefined || signal.aborted) throw error;
        return this.dialRedirect(lead, signal);
      }
    }
    try {
      return await this.dialRedirect(lead, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.reportOnce("ERR_GOAWAY_UNREACHABLE", lead, `it could not be reached: ${(error as Error).message}`, {
        cause: error,
      });
      return this.dialOwnUrl(signal);
    }
  }

  private async dialOwnUrl(signal: AbortSignal): Promise<S> {
    const session = await this.options.dial(signal);
    this.lead = undefined;
    return this.onDialled(session);
  }

  private async dialRedirect(lead: string, signal: AbortSignal): Promise<S> {
    return this.onDialled(await this.options.dialTo(lead, signal));
  }

  private get hasLasted(): boolean {
    return Date.now() - this.madeAt >= LASTING_MS;
  }

  private onDialled(session: S): S {
    this.madeAt = Date.now();
    this.circles = false;
    return session;
  }

  private followGoaway({ departure }: S): void {
    const at = this.lead ?? this.ownUrl;
    const { hasLasted } = this;
    if (hasLasted) this.leftAddresses = undefined;
    const leftAddresses = (this.leftAddresses ??= new Set());
    leftAddresses.add(at);
    const to = departure?.to;
    const url = to === undefined ? at : addressOf(to);
    // Another server may answer at the same address, so the client may connect to it again, but only a limited number
    // of times.
    if (url === at && hasLasted) return;
    this.lead = undefined;
    if (url === undefined) this.reportOnce("ERR_GOAWAY_ADDRESS", "", "it is no URL");
    else if (url === at || url === this.ownUrl) return;
    else if (!this.allowedRedirects(url))
      this.reportOnce("ERR_GOAWAY_UNTRUSTED", url, "this client was not told to trust it", {
        hint: "name it in the option allowedRedirects",
      });
    else {
      this.lead = url;
      this.circles = leftAddresses.has(url) || leftAddresses.size >= MAX_ADDRESSES;
      if (this.circles) this.reportOnce("ERR_GOAWAY_LOOP", url, "servers that drain send this client round in a loop");
    }
  }

  private reportOnce(
    code: keyof RouteErrorCodes,
    url: string,
    cause: string,
    more: { hint?: string; cause?: unknown } = {},
  ): void {
    const key = `${code} ${url}`;
    const reported = (this.reported ??= new Set());
    if (reported.has(key) || reported.size >= MAX_ADDRESSES) return;
    reported.add(key);
    const named = url === "" ? "" : publicUrl(new URL(url));
    const message = `the server drains and sends its clients ${named === "" ? "elsewhere" : `to ${named}`}, which is not followed: ${cause}`;
    this.options.onError(new TransportError({ code, url: named, message, ...more }));
  }
}

function trustsNone(): boolean {
  return false;
}

function isListed(addresses: readonly (string | URL)[]): (url: string) => boolean {
  const listed = new Set(
    addresses.map((address) => {
      const url = addressOf(address);
      if (url === undefined) throw new TypeError(`allowedRedirects takes URLs, not ${JSON.stringify(address)}`);
      return url;
    }),
  );
  return (url) => listed.has(url);
}

/** Returns the URL in a normalised form for comparison, or undefined if the text is not a URL. */
function addressOf(url: string | URL): string | undefined {
  return URL.canParse(url) ? new URL(url).href : undefined;
}
