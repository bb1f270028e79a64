import type { CertificateOptions, TransportOptions } from "@quicrpc/quic";
import type { Limits } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import type { Socket } from "node:net";

/** Options of one transport session. Options that the URL's transport does not support are refused. */
export interface TransportDialOptions extends Partial<CertificateOptions> {
  /** Trusted root certificates in PEM, instead of the system's. Default: the system's roots. */
  readonly ca?: string | Uint8Array;
  /**
   * Hashes of trusted certificates (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. Default: none,
   * roots are trusted.
   */
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: UnsharedBytes;
  }[];
  /** Name that the certificate must contain, if it is not the URL's host. Default: the URL's host. */
  readonly serverName?: string;
  /** Header fields of the HTTP request, for WebSocket and WebTransport only. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Credentials, for providers that carry calls with their own protocol. In sessions they are sent in the greeting,
   * without the provider.
   */
  readonly credentials?: string;
  /** Timeout of the attempt in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborts the attempt. Default: none. */
  readonly signal?: AbortSignal;
  /** Timeouts, windows and stream limits of a QUIC connection. */
  readonly transport?: TransportOptions;
  /**
   * Over `quic://`, to a server that also accepts early data: sends calls of idempotent methods in the first flight
   * (0-RTT), before the handshake is complete. It works from this process's second session with the server on. An
   * attacker can make the server receive these calls twice. Other calls wait. Default false.
   */
  readonly earlyData?: boolean;
  /** Over UDP: dials from another local port than before, for a path that leads the packets of that port to a server that is gone. Default false. */
  readonly freshPort?: boolean;
  /** Limits of the session to create. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
}

/** Default of `timeoutMs`. */
const DIAL_TIMEOUT_MS = 10_000;

/**
 * Runs one attempt. `start` receives the functions that settle it, and returns a function that aborts it after a
 * failure, at the timeout or when the signal fires.
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
      cancel();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason);
    const onTime = (): void => {
      fail(Object.assign(new Error(`${url.href} did not answer within ${timeoutMs} ms`), { code: "ETIMEDOUT" }));
    };
    const timer = setTimeout(onTime, timeoutMs);
    signal?.addEventListener("abort", onAbort);
    let cancel = (): void => {};
    try {
      cancel = start((value) => {
        settle();
        resolve(value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** Returns the URL's host, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Returns the error of a socket that has connected to itself, or undefined if it has not. TCP allows that: if no server listens at a port of this machine, the
 * system may choose the same port for the client.
 */
export function selfConnection(socket: Socket): Error | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || localPort !== remotePort || localAddress !== remoteAddress) return undefined;
  const message = `connect ECONNREFUSED ${remoteAddress}:${remotePort}: the socket connected to itself because no server listens there`;
  return Object.assign(new Error(message), { code: "ECONNREFUSED" });
}
