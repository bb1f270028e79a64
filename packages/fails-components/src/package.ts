import type { EventEmitter } from "node:events";
import type { ClientHttp2Session, Http2SecureServer, IncomingHttpHeaders } from "node:http2";
import type { WebTransportSession } from "@quicrpc/core/transport";

const ABOUT_QUICHE = /^(http3 loader:|Problem loading http3-quiche transport|Did you install @fails-components\/)/;

/**
 * Calls `load` and suppresses the package's console output about a missing quiche transport. That output contains stack
 * traces, and goes to stdout, which may carry a session (`stdioTransport`). Sessions use HTTP/2, which does not need
 * quiche.
 */
async function withoutQuicheLogs<T>(load: () => Promise<T>): Promise<T> {
  const restore = [filtered("log"), filtered("error")];
  try {
    return await load();
  } finally {
    for (const restoreOne of restore) restoreOne();
  }
}

function filtered(name: "log" | "error"): () => void {
  const original = console[name];
  const filter = (...args: unknown[]): void => {
    if (!ABOUT_QUICHE.test(String(args[0]))) original(...args);
  };
  console[name] = filter;
  return () => {
    if (console[name] === filter) console[name] = original;
  };
}

/**
 * The parts of `@fails-components/webtransport` 1.6 that this package uses, including internals that its types do not
 * declare.
 */
export interface FailsPackage {
  readonly WebTransport: new (url: string, options: object) => FailsClientSession;
  readonly Http2Server: new (options: object) => FailsServer;
  /** Resolves with undefined, even if the quiche transport could not be loaded. */
  readonly quicheLoaded: Promise<unknown>;
}

export interface PackageSession extends WebTransportSession {
  readonly incomingUnidirectionalStreams: ReadableStream<unknown>;
}

/** Members of a session that the package's own parser calls. */
export interface FailsInside {
  readonly state: string;
  onStream(event: unknown): void;
}

/** A session on a client, with the internal members that contain its connection. */
export interface FailsClientSession extends PackageSession {
  /** Subprotocol that the server selected, or "" for none. */
  readonly protocol: string;
  readonly sessionint?: FailsInside & FailsConnection;
}

/** Internal members of a client's session. `clientInt` is defined over HTTP/2. */
interface FailsConnection {
  readonly parentobj?: { readonly transportInt?: { readonly clientInt?: ClientHttp2Session } };
}

export interface FailsServerSession extends PackageSession, FailsInside {
  /** The `userData` that the request callback returned. */
  readonly userData: unknown;
}

/** Result of the callback that accepts or refuses a request. */
export interface FailsAnswer {
  readonly status: number;
  readonly path?: string;
  readonly selectedProtocol?: string;
  readonly userData?: object;
}

/** A server of the package, with the internal members that accept connections. */
export interface FailsServer {
  /**
   * Sets the callback that accepts or refuses a request. The callback must neither reject (the client's `ready` would
   * stay pending) nor throw (the exception would be uncaught).
   */
  setRequestCallback(callback: (request: { readonly header: IncomingHttpHeaders }) => Promise<FailsAnswer>): void;
  sessionStream(path: string, options?: { readonly noAutoPaths: boolean }): ReadableStream<FailsServerSession>;
  createTransportInt(): Promise<void>;
  readonly transportInt?: { readonly serverInt?: Http2SecureServer & EventEmitter };
}

const PACKAGE = "@fails-components/webtransport";

const WINDOW = 2 * 1024 * 1024;

/**
 * Flow-control settings of both sides. The windows are larger than the data that a session has in flight within its own
 * flow control (1 MiB); the package's windows start at 16 KiB and would stall the session. Without a request callback,
 * the package's server announces one window and enforces another, so `FailsRequests` always sets a callback.
 */
export const FAILS_WINDOWS: Readonly<Record<string, number>> = {
  initialStreamFlowControlWindow: WINDOW,
  streamFlowControlWindowSizeLimit: WINDOW,
  initialSessionFlowControlWindow: WINDOW,
  sessionFlowControlWindowSizeLimit: WINDOW,
};

/**
 * Settings for the number of streams: one, which the session itself uses. The package never permits a second stream.
 */
export const FAILS_STREAMS: Readonly<Record<string, number>> = {
  initialBidirectionalStreams: 1,
  initialUnidirectionalStreams: 1,
};

/** Error codes of this package. docs/error-codes.md lists them. */
interface FailsErrorCodes {
  /**
   * The package `@fails-components/webtransport` is not installed, or cannot be loaded.
   *
   * `npm install @fails-components/webtransport@1.6`
   */
  readonly ERR_FAILS_MISSING: "fails";
  /**
   * The installed version of `@fails-components/webtransport` is not supported.
   *
   * Install version 1.6.
   */
  readonly ERR_FAILS_VERSION: "fails";
  /** The server does not support this library's protocol in its WebTransport sessions. */
  readonly ERR_FAILS_PROTOCOL: "fails";
  /** The server refused the session. `status` is the HTTP status if there was a response. */
  readonly ERR_FAILS_REFUSED: "fails";
}

/** Creates an error of this transport. If `permanent` is true, a retry is unlikely to succeed. */
export function failsError(
  code: keyof FailsErrorCodes,
  message: string,
  { cause, permanent = true }: { readonly cause?: unknown; readonly permanent?: boolean } = {},
): Error & { code: keyof FailsErrorCodes; permanent: boolean } {
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code, permanent });
}

let loading: Promise<FailsPackage> | undefined;

/**
 * Loads the package on first use. This takes a while, because the package searches for quiche. Rejects with
 * `ERR_FAILS_MISSING` if it is not installed.
 */
export async function loadFails(): Promise<FailsPackage> {
  loading ??= withoutQuicheLogs(load);
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw failsError("ERR_FAILS_MISSING", `@quicrpc/fails-components needs ${PACKAGE}@1.6, which ${failure(error)}`, {
      cause: error,
    });
  }
}

/** Loads the package, and waits until its client and its server have searched for quiche. */
async function load(): Promise<FailsPackage> {
  const loaded = (await import("@fails-components/webtransport")) as unknown as FailsPackage;
  await loaded.quicheLoaded;
  await new Promise((resolve) => setImmediate(resolve));
  return loaded;
}

/** Creates the error for a version of the package whose internal members differ from those that this module uses. */
export function unsupportedVersion(): Error {
  return failsError("ERR_FAILS_VERSION", `this version of ${PACKAGE} is not supported: install ${PACKAGE}@1.6`);
}

function failure(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return "is not installed";
  return `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
}
