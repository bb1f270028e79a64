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

/** Options of `createSession`. */
export interface SessionOptions<Context = unknown> extends CarrierOptions {
  /** Routers that serve the peer's calls. Default: none. */
  readonly routers?: readonly Router<Context>[];
  /** Value of `context.connection` in handlers. Default: undefined. */
  readonly connection?: Context;
  /**
   * Accepts new credentials of the client during the session. Default: the first credentials apply for the whole
   * session.
   */
  readonly renewal?: RenewalOptions<Context>;
  /** Limits on the resources that the peer may use (docs/limits.md). Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Decides when the server is too busy for further calls. Several sessions may share one object. Default: none. */
  readonly loadShedder?: LoadShedder;
  /**
   * Options of calls of `once` methods. Several sessions may share one object. Default: results are stored in memory,
   * by each router.
   */
  readonly once?: OnceOptions<Context>;
  /**
   * Returns the principal (user or client) of a call. Only the same principal can resume a resumable call, and blob
   * limits apply to each principal. Default: the `principal` of `once`, otherwise `context.connection` if it is a
   * string. Without a connection value, all clients are one principal. With any other connection value, resumable calls
   * fail unless this option is set.
   */
  readonly principal?: PrincipalOf<Context>;
  /**
   * Counts the running handlers and the memory of all sessions that share this object. Default: a separate object for
   * each session.
   */
  readonly load?: ServerLoad;
  /**
   * Pings that detect a lost peer; they do not keep a process alive. `false` disables them; a QUIC session then ends
   * after `transport.idleTimeoutMs` without data. Default: over a byte stream, both sides ping after 15 s without data.
   * Over QUIC, only the side that has dialled pings, after 15 s or half of the shorter idle timeout of both sides.
   */
  readonly keepAlive?: KeepAliveOptions | false;
  /**
   * Called with errors that the caller does not receive in full. Default: `console.error`, with text of the peer
   * escaped and shortened, for a burst of 20 errors and then one per second.
   */
  readonly onError?: ErrorHook;
  /**
   * Called with each stream that the peer opens and that does not belong to this protocol. The stream delivers all its
   * bytes to the handler that you attach. Default: such streams are refused.
   */
  readonly onForeignStream?: (stream: DirectStream) => void;
  /** Called with the peer's datagrams that do not belong to this protocol. Default: they are dropped. */
  readonly onForeignDatagram?: (bytes: Uint8Array) => void;
  /**
   * Whether calls are sent on lanes (streams that many calls share) or on their own streams, unless the call's or
   * method's `via` is set. Default "auto".
   */
  readonly via?: Via;
  /** Name of the peer for error messages, such as its URL without secret parts. Default: none. */
  readonly peer?: string | undefined;
}

/** The session options in `advanced` of `serve`, `connect` and `dial`. */
export type AdvancedSessionOptions<Context = unknown> = Omit<
  SessionOptions<Context>,
  "credentials" | "limits" | "load" | "onError" | "peer" | "renewal" | "renewCredentials" | "routers"
>;

export interface SessionEnd {
  /** Error code with which a side closed the session; 0 for a normal close. */
  readonly closeCode: number;
  readonly reason: string;
  /** Error with which the session was lost; undefined after a close by either side with code 0. */
  readonly error: Error | undefined;
}

/** The part of the result of `close` and `drain` that counts unacknowledged notifications. */
export interface Unacknowledged {
  /**
   * Number of notifications that the peer did not acknowledge, and so may not have received. 0 means that it has
   * received all. Datagrams do not count.
   */
  readonly unacknowledged: number;
}

export async function totalOf(ends: readonly Promise<Unacknowledged>[]): Promise<Unacknowledged> {
  const all = await Promise.all(ends);
  return { unacknowledged: all.reduce((sum, { unacknowledged }) => sum + unacknowledged, 0) };
}

/** Describes how a session ended that this side has closed or drained. */
export interface ClosedSession extends SessionEnd, Unacknowledged {}

export interface CloseOptions extends CloseInfo {
  /**
   * Maximum time in milliseconds to wait for the acknowledgement of notifications. Only a close with code 0 waits.
   * Default: `limits.maxAcknowledgeMs`.
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of a drain: a close that waits for calls in progress. */
export interface DrainOptions {
  /** Time in milliseconds after which calls still in progress fail. Default: `limits.maxDrainMs`. */
  readonly timeoutMs?: number;
}

export interface SessionDrainOptions extends DrainOptions {
  /**
   * URL of another server for further calls, at most 1,024 bytes. Clients use it if their `allowedRedirects` permits
   * it; otherwise they choose a server as usual. Default: none.
   */
  readonly to?: string | undefined;
  /**
   * True if the process will end after the drain: resumable calls then still in progress fail at once instead of
   * waiting to be resumed. Default false.
   */
  readonly final?: boolean | undefined;
}
