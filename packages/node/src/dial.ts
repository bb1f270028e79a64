import { combineRouters } from "@quicrpc/core/generated";
import {
  ADVANCED_SESSION_OPTIONS,
  type AdvancedSessionOptions,
  checkOptions,
  createSession,
  type Credentials,
  flatOptions,
  type OptionNames,
  publicUrl,
  rejectionAtCaller,
  sessionOn,
  withCredentials,
} from "@quicrpc/core/internal";
import { createCallerSession } from "@quicrpc/core/transport";
import { DEFAULT_LIMITS, interceptCaller, type Interceptor, type Session, type SessionOptions } from "@quicrpc/core";
import { DEFAULT_TRANSPORT, type QuicSession, type TransportOptions } from "@quicrpc/quic";
import { dialQueued } from "./dial/dial-queue.js";
import { delayEarlyCalls } from "./early-data.js";
import { trackHandle } from "./active-handles.js";
import { type ProviderWith, providerFor, reachableUrl, transportUrl } from "./urls.js";
import { transportError } from "./transport/failure.js";
import type { TransportDialOptions } from "./transport/dialling.js";
import { DEFAULT_INTERVAL_MS, QUIC_OPTIONS, type QuicOptions, withKeepAlive } from "./transport/keep-alive.js";
import type { TransportProvider } from "./transport/provider.js";
import { requireDialable } from "./transport/refuse.js";

/** Options of `dial`. Without `ca` and `serverCertificateHashes`, the client trusts the system's root certificates. */
export interface DialOptions<Context = unknown>
  extends Pick<SessionOptions<Context>, "limits" | "onError" | "routers">,
    Pick<TransportDialOptions, "ca" | "cert" | "key" | "serverCertificateHashes" | "signal" | "timeoutMs"> {
  /**
   * Credentials of this client: a token, or a function that returns a token for each session and again before it
   * expires. The client sends the token at the start of the session over any transport, and the server's `authenticate`
   * receives it as `Peer.credentials`. Default: none.
   */
  readonly credentials?: Credentials;
  /**
   * Interceptors of outgoing calls; the first is the outermost. For incoming calls use `interceptRouter`. Default:
   * none.
   */
  readonly interceptors?: readonly Interceptor[];
  /** Options that few clients set. Default: none. */
  readonly advanced?: AdvancedDialOptions<Context>;
}

/** Options of `dial` that few clients set. */
export interface AdvancedDialOptions<Context = unknown>
  extends AdvancedSessionOptions<Context>,
    Pick<TransportDialOptions, "earlyData" | "headers" | "serverName"> {
  /** Timeouts, windows and stream limits of a QUIC connection. Default: `DEFAULT_TRANSPORT` of `@quicrpc/quic`. */
  readonly transport?: QuicOptions;
  /**
   * Additional transports, which take precedence over the built-in ones. The first that supports the URL's scheme is
   * used. Default: none.
   */
  readonly transports?: readonly TransportProvider[];
}

export type DialSettings<Context = unknown> = Omit<DialOptions<Context>, "advanced"> & AdvancedDialOptions<Context>;

export const ADVANCED_DIAL_OPTIONS: OptionNames<AdvancedDialOptions> = {
  ...ADVANCED_SESSION_OPTIONS,
  earlyData: true,
  headers: true,
  serverName: true,
  transport: QUIC_OPTIONS,
  transports: true,
};

export const DIAL_OPTIONS: OptionNames<DialOptions> = {
  advanced: ADVANCED_DIAL_OPTIONS,
  ca: true,
  cert: true,
  credentials: true,
  interceptors: true,
  key: true,
  limits: DEFAULT_LIMITS,
  onError: true,
  routers: true,
  serverCertificateHashes: true,
  signal: true,
  timeoutMs: true,
};

/** Maximum number of streams that the server may open at first, if the client has no `routers`. */
const FEW_STREAMS = 8;

/**
 * Creates one session with `quic://host[:port]`, `https://host[:port]/path` (WebTransport), `tls://host[:port]`,
 * `wss://host[:port]/path`, or without encryption `tcp://`, `ws://` and `unix:/path`. Rejects with a `TransportError`
 * whose `code` states the reason, such as a timeout, an untrusted certificate or another protocol. Rejects with
 * `TypeError` for invalid arguments, such as two routers with the same service.
 */
export function dial<Context = unknown>(
  url: `quic://${string}`,
  options?: DialOptions<Context>,
): Promise<Session<QuicSession>>;
export function dial<Context = unknown>(url: string | URL, options?: DialOptions<Context>): Promise<Session>;
export async function dial<Context = unknown>(url: string | URL, options: DialOptions<Context> = {}): Promise<Session> {
  const note = trackHandle("session");
  for (const name of ["fallback", "reconnect"]) {
    if (options[name as keyof typeof options] !== undefined)
      throw new TypeError(`dial() has no option ${name}: connect() has it`);
  }
  checkOptions("dial()", options, DIAL_OPTIONS);
  const session = await dialSession(url, flatOptions(options)).catch((error: unknown) =>
    rejectedAtCaller(error, options.signal),
  );
  void session.closed.finally(note(String(url)));
  return session;
}

/**
 * Rethrows a failure so that the error's stack contains the line of the caller that awaits it. A signal's abort reason
 * is thrown unchanged.
 */
export async function rejectedAtCaller(failure: unknown, signal: AbortSignal | undefined): Promise<never> {
  if (signal?.aborted === true) throw failure;
  return rejectionAtCaller(failure as Error);
}

/** Same as `dial`, for connections that reconnect. `activeHandles` lists the connection instead of each session. */
export async function dialSession<Context>(
  url: string | URL,
  options: DialSettings<Context>,
  freshPort = false,
): Promise<Session> {
  requireHashes(options.serverCertificateHashes);
  const { target, provider } = resolveTarget(url, options);
  const combined = [combineRouters(options.routers ?? [])];
  const peer = publicUrl(target);
  const sessionOptions = await withCredentials({ ...options, routers: combined });
  const dialled = { ...sessionOptions, transport: transportFor(options), freshPort };
  const dialling = dialQueued(target, options.signal, () => provider.dial(target, dialled));
  const reached = await dialling.catch((error: unknown) => {
    throw transportError(error, { action: "connect to", url: peer }, options.signal);
  });
  const session = await sessionOn(reached, (transport): Session => {
    const isTransport = "openStream" in transport || "createBidirectionalStream" in transport;
    return isTransport ? createSession(transport, { peer, ...sessionOptions }) : createCallerSession(transport);
  });
  await options.proof?.proven(session, options.signal);
  const delayed = options.earlyData === true ? delayEarlyCalls(session as Session<QuicSession>) : session;
  return interceptCaller(delayed, options.interceptors ?? []);
}

/** Throws `TypeError` if a value is not a certificate hash, for example hexadecimal text. */
function requireHashes(hashes: DialSettings["serverCertificateHashes"]): void {
  if (hashes === undefined) return;
  const value: unknown = hashes;
  const isHash = (hash: unknown): boolean =>
    ArrayBuffer.isView((hash as { value?: unknown } | null)?.value) ||
    (hash as { value?: unknown } | null)?.value instanceof ArrayBuffer;
  if (Array.isArray(value) && value.every(isHash)) return;
  throw new TypeError(
    'serverCertificateHashes must be a list of { algorithm: "sha-256", value: bytes }; to convert a hash in hex: Uint8Array.from(Buffer.from(hex.replaceAll(":", ""), "hex"))',
  );
}

/**
 * Returns how to reach the server at a URL. Throws `TypeError` if the URL's transport does not support these options.
 */
export function resolveTarget<Context>(
  url: string | URL,
  options: DialSettings<Context>,
): { readonly target: URL; readonly provider: ProviderWith<"dial"> } {
  const target = reachableUrl(transportUrl(url, "dial", options.transports));
  const provider = providerFor(target.protocol, "dial", options.transports);
  requireDialable(provider, target, options);
  return { target, provider };
}

/**
 * Returns the QUIC settings of a client. Lowers the number of streams that the server may open if the client has no
 * `routers`: QUIC reserves memory for each stream, and the usual 100 took a tenth of an idle session's memory.
 */
function transportFor<Context>({ routers = [], keepAlive, ...options }: DialSettings<Context>): TransportOptions {
  const transport = withKeepAlive(options.transport, keepAlive, DEFAULT_INTERVAL_MS);
  if (routers.length > 0 || transport.maxStreams !== undefined) return transport;
  const { maxStreamsCeiling } = DEFAULT_TRANSPORT;
  return { maxStreamsCeiling, ...transport, maxStreams: FEW_STREAMS };
}
