import type { Via } from "../contract/descriptor.js";
import type { Limits } from "../limits.js";
import type { PrincipalOf } from "../server/context.js";
import type { LoadShedder } from "../server/admission.js";
import type { ErrorHook } from "../server/dispatch.js";
import type { OnceOptions } from "../server/once-options.js";
import type { Router } from "../server/router.js";
import type { ServerLoad } from "../server/server-load.js";
import type { CloseInfo, DirectStream } from "../transport/session.js";
import type { CarrierOptions } from "./carrier-settings.js";
import type { KeepAliveOptions } from "./sole-session.js";
import type { RenewalOptions } from "./server-renewal.js";

/** Options of a session. */
export interface SessionOptions<Context = unknown> extends CarrierOptions {
  /** Routers that serve the peer's calls. Default: none. */
  readonly routers?: readonly Router<Context>[];
  /** Value of `context.connection` in handlers. Default: undefined. */
  readonly connection?: Context;
  /**
   * Accepts new credentials of the client during the session. Default: the credentials of the session's beginning apply
   * throughout.
   */
  readonly renewal?: RenewalOptions<Context>;
  /** Limits on what the peer may cost (docs/limits.md). Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Refuses calls under load. Sessions may share one. Default: none. */
  readonly loadShedder?: LoadShedder;
  /** How calls of `once` methods are remembered. Default: in memory, by each router. Sessions may share one object. */
  readonly once?: OnceOptions<Context>;
  /**
   * Returns the principal of a call. Only the same principal can resume a resumable call, and blobs are counted for
   * each principal. Default: the `principal` of `once`, otherwise `context.connection` if it is a string. Without a
   * connection value all clients are one principal. With any other connection value, resumable calls fail until this
   * option is set.
   */
  readonly principal?: PrincipalOf<Context>;
  /** Counts the work of the sessions that share it. Default: a separate one. */
  readonly load?: ServerLoad;
  /**
   * Pings to a silent peer. Default: after 15 s over a byte stream, on either side. Over QUIC the side that dialled pings after 15 s, or after
   * half of the shorter idle timeout of both sides; a server does not ping. Pings do not keep a process alive. `false`: none; a QUIC session then
   * ends when it has been idle for `transport.idleTimeoutMs`.
   */
  readonly keepAlive?: KeepAliveOptions | false;
  /**
   * Called with failures that the caller does not receive in full. Default: `console.error`, with text of the peer
   * escaped and shortened, for 20 failures at once and one in a second.
   */
  readonly onError?: ErrorHook;
  /**
   * Receives the streams opened by the peer that do not belong to this protocol, with all their bytes; attach a handler
   * to read one. Without it they are refused. Open your own streams on `Session.transport`. Default: none.
   */
  readonly onForeignStream?: (stream: DirectStream) => void;
  /** Receives the peer's datagrams that do not belong to this protocol. Without it they are dropped. Default: none. */
  readonly onForeignDatagram?: (bytes: Uint8Array) => void;
  /** How calls travel, unless their options say otherwise. Default "auto". */
  readonly via?: Via;
  /** The peer's name in errors of calls, such as its URL without secret parts. Default: none. */
  readonly peer?: string | undefined;
}

/** Options of sessions that `serve`, `connect` and `dial` have in `advanced`: few programs set them. */
export type AdvancedSessionOptions<Context = unknown> = Omit<
  SessionOptions<Context>,
  "credentials" | "limits" | "load" | "onError" | "peer" | "renewal" | "renewCredentials" | "routers"
>;

/** How a session ended. */
export interface SessionEnd {
  /** Application error code of the close, 0 for a clean one. */
  readonly closeCode: number;
  readonly reason: string;
  /** The reason why the session was lost; undefined after a close by either side with code 0. */
  readonly error: Error | undefined;
}

/** Result of a session that this side has closed or drained. */
export interface Unacknowledged {
  /**
   * Number of notifications that the peer did not acknowledge: it may have received some of them, or none. 0: it has
   * received all. Datagrams do not count.
   */
  readonly unacknowledged: number;
}

/** Adds up the results of several sessions. */
export async function totalOf(ends: readonly Promise<Unacknowledged>[]): Promise<Unacknowledged> {
  const all = await Promise.all(ends);
  return { unacknowledged: all.reduce((sum, { unacknowledged }) => sum + unacknowledged, 0) };
}

/** How a session ended that this side has closed or drained. */
export interface ClosedSession extends SessionEnd, Unacknowledged {}

/** Options of `Session.close`. */
export interface CloseOptions extends CloseInfo {
  /**
   * Milliseconds to wait for the acknowledgement of notifications if the code is 0; with other codes the session does
   * not wait. Default: `limits.maxAcknowledgeMs`.
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of a drain. */
export interface DrainOptions {
  /** Milliseconds that calls in progress have left; then they fail. Default: `limits.maxDrainMs`. */
  readonly timeoutMs?: number;
}

/** Options of `Session.drain`. */
export interface SessionDrainOptions extends DrainOptions {
  /**
   * URL of a server that accepts calls instead, at most 1,024 bytes. Connections that trust it (`allowedRedirects`) use
   * it; others choose a server as usual. Default: none.
   */
  readonly to?: string | undefined;
  /** The process ends with the drain: resumable calls that are not over by then fail at once, instead of waiting to be resumed. Default false. */
  readonly final?: boolean | undefined;
}
