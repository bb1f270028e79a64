import type { EventEmitter } from "node:events";
import type { ClientHttp2Session, Http2SecureServer, IncomingHttpHeaders } from "node:http2";
import type { WebTransportSession } from "@quicrpc/core/transport";
import { quietly } from "./quiet.js";

/** The part of `@fails-components/webtransport` 1.6 that is used, with insides that its own types do not name. */
export interface FailsPackage {
  readonly WebTransport: new (url: string, options: object) => FailsClientSession;
  readonly Http2Server: new (options: object) => FailsServer;
  readonly Http3Server: new (options: object) => FailsServer;
  /** Fulfils with undefined whether the quiche transport was loaded or not. */
  readonly quicheLoaded: Promise<unknown>;
}

/** A session, of either side. */
export interface PackageSession extends WebTransportSession {
  readonly incomingUnidirectionalStreams: ReadableStream<unknown>;
}

/** Members of a session that the package's own parser uses. */
export interface FailsInside {
  readonly state: string;
  /** Called for each stream that the peer opens. */
  onStream(event: unknown): void;
}

/** A session of the client, with the insides that hold its connection. */
export interface FailsClientSession extends PackageSession {
  /** The subprotocol that the server chose; "" for none. */
  readonly protocol: string;
  readonly sessionint?: FailsInside & FailsConnection;
}

/** Where a session of the client keeps its connection: `clientInt` is there over HTTP/2. */
interface FailsConnection {
  readonly parentobj?: { readonly transportInt?: { readonly clientInt?: ClientHttp2Session } };
}

/** A session of the server. */
export interface FailsServerSession extends PackageSession, FailsInside {
  /** The `userData` that the request callback returned. */
  readonly userData: unknown;
  readonly peerAddress: string | undefined;
}

/** Result of the request callback. */
export interface FailsAnswer {
  readonly status: number;
  readonly path?: string;
  readonly selectedProtocol?: string;
  readonly userData?: object;
}

/** A server, with the insides that take connections. */
export interface FailsServer {
  readonly ready: Promise<unknown>;
  readonly closed: Promise<unknown>;
  /** Fails when it rejects: the client would wait for ever; and when it throws: nobody catches that. */
  setRequestCallback(callback: (request: { readonly header: IncomingHttpHeaders }) => Promise<FailsAnswer>): void;
  sessionStream(path: string, options?: { readonly noAutoPaths: boolean }): ReadableStream<FailsServerSession>;
  startServer(): void;
  stopServer(): void;
  createTransportInt(): Promise<void>;
  /** Replaces the certificate; that of HTTP/3 too where `http2only` is false. */
  updateCert(cert: string, key: string, http2only: boolean): void;
  address(): { readonly host: string; readonly port: number } | null;
  readonly transportInt?: { readonly serverInt?: Http2SecureServer & EventEmitter };
}

const PACKAGE = "@fails-components/webtransport";
// Not a literal: the compiler would look for it, and it need not be there.
const QUICHE: string = "@fails-components/webtransport-transport-http3-quiche";

const WINDOW = 2 * 1024 * 1024;

/**
 * Flow-control settings of both sides: above what a session has under way by its own credit (1 MiB), so that the package's
 * windows, which start at 16 KiB, hold nothing back. Its server tells one window and keeps books of another where it has no
 * request callback; `FailsRequests` is one.
 */
export const FAILS_WINDOWS: Readonly<Record<string, number>> = {
  initialStreamFlowControlWindow: WINDOW,
  streamFlowControlWindowSizeLimit: WINDOW,
  initialSessionFlowControlWindow: WINDOW,
  sessionFlowControlWindowSizeLimit: WINDOW,
};

/** One: the session's own. The package gives no credit for another. */
export const FAILS_STREAMS: Readonly<Record<string, number>> = {
  initialBidirectionalStreams: 1,
  initialUnidirectionalStreams: 1,
};

/** Codes of errors that are this package's own; docs/error-codes.md is written from the comments. */
interface FailsErrorCodes {
  /**
   * `@fails-components/webtransport` is not installed, or cannot be loaded.
   *
   * `npm install @fails-components/webtransport@1.6`
   */
  readonly ERR_FAILS_MISSING: "fails";
  /**
   * The package's version is not supported.
   *
   * Install 1.6.
   */
  readonly ERR_FAILS_VERSION: "fails";
  /**
   * HTTP/3 was asked for, and the package cannot use it here.
   *
   * Install `@fails-components/webtransport-transport-http3-quiche`, or leave `httpVersion` out.
   */
  readonly ERR_FAILS_HTTP3: "fails";
  /** The server does not speak this protocol in its WebTransport sessions. */
  readonly ERR_FAILS_PROTOCOL: "fails";
  /** The server refused the session, with `status` where it said one. */
  readonly ERR_FAILS_REFUSED: "fails";
}

/** An error of this transport; `code` says what to do about it. `permanent`: trying again will hardly mend it. */
export function failsError(
  code: keyof FailsErrorCodes,
  message: string,
  { cause, permanent = true }: { readonly cause?: unknown; readonly permanent?: boolean } = {},
): Error & { code: keyof FailsErrorCodes; permanent: boolean } {
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code, permanent });
}

let loading: Promise<FailsPackage> | undefined;

/** Loads the package, which takes a while and looks for quiche: when it is used. Rejects with `ERR_FAILS_MISSING`. */
export async function loadFails(): Promise<FailsPackage> {
  loading ??= quietly(load);
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw failsError("ERR_FAILS_MISSING", `@quicrpc/fails-components needs ${PACKAGE}@1.6, which ${failure(error)}`, {
      cause: error,
    });
  }
}

/** Waits until the package has looked for quiche: its client and its server both do, when they are loaded. */
async function load(): Promise<FailsPackage> {
  const loaded = (await import("@fails-components/webtransport")) as unknown as FailsPackage;
  await loaded.quicheLoaded;
  await new Promise((resolve) => setImmediate(resolve));
  return loaded;
}

/** Why HTTP/3 cannot be used; undefined where it can. */
export async function http3Problem(): Promise<string | undefined> {
  try {
    await import(QUICHE);
    return undefined;
  } catch (error) {
    return `HTTP/3 needs ${QUICHE}, which ${failure(error)}`;
  }
}

/** Makes the error for a version of the package whose internals differ from those that this code uses. */
export function unsupportedVersion(): Error {
  return failsError("ERR_FAILS_VERSION", `this version of ${PACKAGE} is not supported: install ${PACKAGE}@1.6`);
}

function failure(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return "is not installed";
  return `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
}
