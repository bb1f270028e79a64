import type { CertificateOptions, TransportOptions } from "@quicrpc/quic";
import type { Limits } from "@quicrpc/core";
import type { TransportSession, UnsharedBytes } from "@quicrpc/core/transport";

/** What carries WebTransport. */
export type Engine = "quic" | "fails";

/** How a transport session is made; what concerns other transports is passed over. */
export interface TransportDialOptions extends Partial<CertificateOptions> {
  /** Roots to trust instead of the system's, PEM. */
  readonly ca?: string | Uint8Array;
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: UnsharedBytes;
  }[];
  /** The name to find in the certificate, where it is not the URL's host. */
  readonly serverName?: string;
  /** Of the HTTP request, over WebSocket and WebTransport. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What carries `https://`: this project's own engine, or `@fails-components/webtransport`, which must be installed. Default
   * "quic".
   */
  readonly engine?: Engine;
  /** Of the engine "fails". Default: 3 where its quiche transport is installed and the server answers, otherwise 2. */
  readonly httpVersion?: 2 | 3;
  /** Milliseconds until the attempt is given up. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborting gives the attempt up. */
  readonly signal?: AbortSignal;
  /** Timeouts, windows and stream limits of a QUIC connection. */
  readonly transport?: TransportOptions;
  /**
   * Over `quic://`, to a server of the same process's earlier session that takes it too: calls of idempotent methods leave
   * with the first flight (0-RTT), without waiting for the handshake. An attacker can make the server see them twice.
   * Other calls wait. Default false.
   */
  readonly earlyData?: boolean;
  readonly limits?: Partial<Limits>;
}

/** Makes a transport session with what the URL names. */
export type Dialler = (url: URL, options: TransportDialOptions) => Promise<TransportSession>;

/** Default for `timeoutMs`. */
const DIAL_TIMEOUT_MS = 10_000;

/**
 * Runs one attempt: `start` gets what settles it, and returns what gives it up when it fails, the time is over or the
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
