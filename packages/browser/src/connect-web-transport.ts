import { type ClientSessionOptions, createClientSession, RpcError, type Session } from "@quicrpc/core";
import { type BrowserConnection, heal, type HealingOptions, httpsUrl } from "./heal.js";
import type { BrowserTransport, OpenTransport } from "./transport.js";
import { webTransportOpener } from "./web-transport.js";

/** Options of `connectWebTransport`. */
export interface WebTransportConnectOptions extends ClientSessionOptions, Omit<HealingOptions, "limits"> {
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly WebTransportHash[];
  /**
   * Runs the protocol over each transport. Default: `createClientSession`. A page that serves calls too, or compresses, has
   * `(transport) => createSession(transport, { … })`.
   */
  readonly session?: (transport: BrowserTransport) => Session<BrowserTransport>;
}

/**
 * As `connect`, over WebTransport alone and for a page that only calls. What it does without stays out of the bundle: the
 * fallback, and the serving of calls.
 */
export async function connectWebTransport(
  url: string | URL,
  options: WebTransportConnectOptions = {},
): Promise<BrowserConnection> {
  const open = webTransportOpener(httpsUrl(url), options.serverCertificateHashes);
  const run = options.session ?? ((transport) => createClientSession(transport, options));
  return heal((signal, timeoutMs) => openInTime(open, signal, timeoutMs), run, options);
}

async function openInTime(
  open: (signal: AbortSignal) => Promise<BrowserTransport>,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<OpenTransport> {
  const attempt = new AbortController();
  const giveUp = (): void => attempt.abort(signal.reason);
  const timer = setTimeout(
    () => attempt.abort(new RpcError("unavailable", `no session within ${timeoutMs} ms`)),
    timeoutMs,
  );
  signal.addEventListener("abort", giveUp);
  try {
    signal.throwIfAborted();
    return { kind: "webtransport", transport: await open(attempt.signal), reason: undefined };
  } catch (error) {
    const { message } = RpcError.from(error);
    throw signal.aborted || attempt.signal.aborted
      ? error
      : new RpcError("unavailable", `WebTransport failed: ${message}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
