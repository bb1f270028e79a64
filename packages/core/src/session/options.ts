import type { Via } from "../contract/descriptor.js";
import type { Limits } from "../limits.js";
import type { LoadShedder } from "../server/admission.js";
import type { ErrorHook } from "../server/dispatch.js";
import type { Router } from "../server/router.js";
import type { ServerLoad } from "../server/server-load.js";
import type { DirectStream } from "../transport/session.js";
import type { CarrierOptions } from "./carrier-settings.js";
import type { KeepAliveOptions } from "./keep-alive.js";

/** What a session is made with. */
export interface SessionOptions<Context = unknown> extends CarrierOptions {
  /** What this side serves. Default: nothing. */
  readonly routers?: readonly Router<Context>[];
  /** What handlers find as `context.connection`. */
  readonly connection?: Context;
  readonly limits?: Partial<Limits>;
  /** Refuses calls under load. Sessions may share one. */
  readonly loadShedder?: LoadShedder;
  /** Counts what the sessions that share it do. Default: one of its own. */
  readonly load?: ServerLoad;
  /** Pings over a byte stream, which does not tell by itself that the peer is gone; `false` for none. QUIC has its own. */
  readonly keepAlive?: KeepAliveOptions | false;
  /**
   * Told of failures that the caller is not told in full. Default: `console.error`, where what a peer sent is escaped and cut,
   * for 20 failures at once and one in a second.
   */
  readonly onError?: ErrorHook;
  /**
   * Takes the streams that the peer opened and that do not belong to this protocol, with all their bytes; attach a
   * handler to read one. Without it they are refused. Streams of your own are opened on `Session.transport`.
   */
  readonly onForeignStream?: (stream: DirectStream) => void;
  /** Takes the datagrams of the peer that do not belong to this protocol. Without it they are dropped. */
  readonly onForeignDatagram?: (bytes: Uint8Array) => void;
  /** How calls travel that do not say so themselves. Default "auto". */
  readonly via?: Via;
}

/** How a session ended. */
export interface SessionEnd {
  /** Application error code of the close, 0 for a clean one. */
  readonly closeCode: number;
  readonly reason: string;
  /** Why the session was lost; undefined after a close by either side with code 0. */
  readonly error: Error | undefined;
}

/** Options of `Session.drain`. */
export interface DrainOptions {
  /** Milliseconds that calls in progress still have. */
  readonly timeoutMs?: number;
}
