import { createSession, type SessionOptions } from "@quicrpc/core";
import { DEFAULT_FALLBACK_MS, type FallbackOptions } from "./dial.js";
import { type BrowserConnection, heal, type HealingOptions, httpsUrl } from "./heal.js";
import { Ladder } from "./ladder.js";
import { ponyfillOpener } from "./ponyfill.js";
import type { CertificateHash } from "./transport.js";
import { webTransportOpener } from "./web-transport.js";

/** Options of this `connect`. */
export interface FailsConnectOptions<Context = unknown>
  extends SessionOptions<Context>,
    Omit<HealingOptions, "limits"> {
  /**
   * Whether the browser's own WebTransport is tried first; `false` where the server has the engine "fails", which speaks it
   * with nobody else. Default true.
   */
  readonly native?: boolean;
  /** Milliseconds without an answer by that after which the ponyfill is tried as well. Default 1500. */
  readonly afterMs?: number;
  /** When the browser's own is tried again while the ponyfill is in use, as `FallbackOptions.retry` says. */
  readonly retry?: FallbackOptions["retry"];
  /** Hashes of the certificates to trust (W3C WebTransport §9.4), but for the ponyfill: its WebSocket knows none. */
  readonly serverCertificateHashes?: readonly CertificateHash[];
}

/**
 * As `connect` of `@quicrpc/browser`, with the ponyfill of `@fails-components/webtransport` for a fallback, which is WebTransport
 * over a WebSocket: for servers that offer that, by `http2: true` or the engine "fails". The package must be installed.
 */
export async function connect<Context = unknown>(
  url: string | URL,
  options: FailsConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  const { native = true, afterMs = DEFAULT_FALLBACK_MS, serverCertificateHashes } = options;
  const target = httpsUrl(url);
  const ponyfill = { kind: "ponyfill", open: ponyfillOpener(target), afterMs } as const;
  const first = native
    ? ({ kind: "webtransport", open: webTransportOpener(target, serverCertificateHashes) } as const)
    : ponyfill;
  const fallback = native ? ponyfill : undefined;
  return heal(
    new Ladder({ first, fallback, retry: options.retry }),
    (transport) => createSession(transport, options),
    options,
  );
}
