import type { CertificateOptions, TransportOptions } from "@quicrpc/quic";
import type { Limits } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/transport";

/** How a transport session is made. An option that the URL's transport cannot carry is refused. */
export interface TransportDialOptions extends Partial<CertificateOptions> {
  /** Roots to trust instead of the system's, PEM. Default: the system's roots. */
  readonly ca?: string | Uint8Array;
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. Default: none, roots are trusted. */
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: UnsharedBytes;
  }[];
  /** The name to find in the certificate, where it is not the URL's host. Default: the URL's host. */
  readonly serverName?: string;
  /** Header fields of the HTTP request, over WebSocket and WebTransport; other transports have none. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Credentials for a client that carries calls by a protocol of its own; in a session's greeting they travel without the provider. */
  readonly credentials?: string;
  /** Milliseconds until the attempt is aborted. Default 10,000. */
  readonly timeoutMs?: number;
  /** Ends the attempt when it fires. Default: none. */
  readonly signal?: AbortSignal;
  /** Timeouts, windows and stream limits of a QUIC connection. */
  readonly transport?: TransportOptions;
  /**
   * Over `quic://`, to a server that takes early data too: calls of idempotent methods leave with the first flight
   * (0-RTT), without waiting for the handshake. It works from the second session of this process with that server on.
   * An attacker can make the server see these calls twice. Other calls wait. Default false.
   */
  readonly earlyData?: boolean;
  /** Over UDP: dials from another local port than before, for a path that leads the packets of that port to a server that is gone. Default false. */
  readonly freshPort?: boolean;
  /** Limits of the session that the attempt is for. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
}

/** Default for `timeoutMs`. */
const DIAL_TIMEOUT_MS = 10_000;

/**
 * Runs one attempt: `start` gets what settles it, and returns what aborts it when it fails, the time is over or the
 * signal fires.
 */
export function attempt<T>(
  url: URL,
  { signal, timeoutMs = DIAL_TIMEOUT_MS }: TransportDialOptions,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown): void => {
      settle();
      giveUp();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason);
    const onTime = (): void => {
      fail(Object.assign(new Error(`${url.href} did not answer within ${timeoutMs} ms`), { code: "ETIMEDOUT" }));
    };
    const timer = setTimeout(onTime, timeoutMs);
    signal?.addEventListener("abort", onAbort);
    let giveUp = (): void => {};
    try {
      giveUp = start((value) => {
        settle();
        resolve(value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** The URL's host, an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
