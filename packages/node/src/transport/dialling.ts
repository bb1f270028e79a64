import type { CertificateOptions, TransportOptions } from "@quicrpc/quic";
import type { Limits } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import type { Socket } from "node:net";

/**
 * Options for creating one transport session. Options that the URL's transport does not support cause a `TypeError`.
 */
export interface TransportDialOptions extends Partial<CertificateOptions> {
  /** Trusted root certificates in PEM, which replace the system's. Default: the system's root certificates. */
  readonly ca?: string | Uint8Array;
  /**
   * SHA-256 hashes of certificates to trust instead of root certificates (W3C WebTransport §9.4). The server's
   * certificate must be ECDSA P-256, valid now, and valid for at most 14 days in total. Default: none.
   */
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: UnsharedBytes;
  }[];
  /** Name that the server's certificate must contain. Default: the URL's host. */
  readonly serverName?: string;
  /** Header fields of the HTTP request, for WebSocket and WebTransport only. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Credentials, for providers that carry calls with a protocol of their own. In sessions, this library sends the
   * credentials at the start of the session.
   */
  readonly credentials?: string;
  /** Timeout of the attempt in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborts the connection attempt. Default: none. */
  readonly signal?: AbortSignal;
  /** Timeouts, windows and stream limits of a QUIC connection. */
  readonly transport?: TransportOptions;
  /**
   * Sends calls of idempotent methods together with the first packets over `quic://` (0-RTT), before the handshake is
   * complete. Requires a server that accepts early data, and an earlier session of this process with the same server.
   * An attacker can make the server receive these calls twice. Other calls wait for the handshake. Default false.
   */
  readonly earlyData?: boolean;
  /**
   * Over UDP: dials from another local port than the previous attempt. Use this if the network may still forward the
   * old port's packets to a server that no longer runs. Default false.
   */
  readonly freshPort?: boolean;
  /** Limits of the session to create. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
}

const DIAL_TIMEOUT_MS = 10_000;

/**
 * Runs one connection attempt. `start` receives the functions that resolve or reject the attempt, and returns a
 * function that aborts it. That function is called after a failure, at the timeout, or when the signal fires.
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

/** Returns the host name of a URL. Removes the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Returns an error if a TCP socket has connected to itself, otherwise undefined. This can happen if no server listens
 * on a port of this machine: the system may choose the same port for the client.
 */
export function selfConnection(socket: Socket): Error | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || localPort !== remotePort || localAddress !== remoteAddress) return undefined;
  const message = `connect ECONNREFUSED ${remoteAddress}:${remotePort}: the socket connected to itself because no server listens there`;
  return Object.assign(new Error(message), { code: "ECONNREFUSED" });
}
