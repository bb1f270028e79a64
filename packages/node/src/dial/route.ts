import { type Session, TransportError } from "@quicrpc/core";
import { publicUrl } from "@quicrpc/core/internal";

/**
 * A session that lasted this many milliseconds ends a chain of goaways, so the address that its peer names is not part
 * of a loop. Servers may restart within a second.
 */
const LASTING_MS = 250;
/** The longest chain, and the number of addresses that are reported to the application. */
const MAX_ADDRESSES = 16;

/** Addresses to which a server that drains may send its client: URLs, or a test of one. */
export type TrustedAddresses = readonly (string | URL)[] | ((url: string) => boolean);

/** Why an address that a server names is not followed; docs/error-codes.md lists the codes. */
interface RouteErrorCodes {
  /** The address that a draining server named is not a URL. */
  readonly ERR_GOAWAY_ADDRESS: "goaway";
  /**
   * This client was not told to trust the address that the server names.
   *
   * Name it in `allowedRedirects`.
   */
  readonly ERR_GOAWAY_UNTRUSTED: "goaway";
  /** The server that was named could not be reached. The connection uses its own URL. */
  readonly ERR_GOAWAY_UNREACHABLE: "goaway";
  /** Servers that drain name each other. The connection tries its own URL first, and waits longer each time. */
  readonly ERR_GOAWAY_LOOP: "goaway";
}

/** Options of a route. */
export interface RouteOptions<S extends Session> {
  /** The address that the connection was made with. */
  readonly ownUrl: string | URL;
  /** Makes a session with it. Settles in bounded time, as `dialTo` does. */
  readonly dial: (signal: AbortSignal) => Promise<S>;
  /** Makes a session with another address. */
  readonly dialTo: (url: string, signal: AbortSignal) => Promise<S>;
  /** Default: none. */
  readonly allowedRedirects?: TrustedAddresses | undefined;
  /** Receives why an address is not followed, or does not answer; of each address once. */
  readonly onError: (error: Error) => void;
}

/**
 * Makes the sessions of a connection whose draining servers may name another address: `createConnection((signal, left)
 * => route.dial(signal, left))`. A trusted address is used until another goaway names the next. If it does not answer,
 * its session does not last, or it is part of a loop, the connection's own address is used again.
 */
export class Route<S extends Session> {
  private readonly options: RouteOptions<S>;
  private readonly ownUrl: string;
  private readonly allowedRedirects: (url: string) => boolean;
  /** The address that the last goaway named; undefined for the connection's own address. */
  private lead: string | undefined = undefined;
  /** It is part of a loop: the own address is tried first. */
  private circles = false;
  /** Time at which the last session was made. */
  private madeAt: number = Number.NEGATIVE_INFINITY;
  /** The last session whose goaway was followed. */
  private followed: S | undefined = undefined;
  /** Addresses that were left in a row, of sessions that did not last. */
  private leftAddresses: Set<string> | undefined = undefined;
  private reported: Set<string> | undefined = undefined;

  constructor(options: RouteOptions<S>) {
    const { ownUrl, allowedRedirects = trustsNone } = options;
    this.options = options;
    this.ownUrl = addressOf(ownUrl) ?? String(ownUrl);
    this.allowedRedirects = typeof allowedRedirects === "function" ? allowedRedirects : isListed(allowedRedirects);
  }

  /** @param draining the draining session that the new one replaces; undefined if a session was lost */
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
    // Another server may answer at the same address, but only a limited number of times.
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

/** Returns the URL in a normalised form for comparison; undefined if it is not a URL. */
function addressOf(url: string | URL): string | undefined {
  return URL.canParse(url) ? new URL(url).href : undefined;
}
