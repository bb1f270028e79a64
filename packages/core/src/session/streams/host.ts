import type { SchemaHandshake } from "../../call/schemas.js";
import type { Pipe, PipeHandler, PipeSettings } from "./pipe.js";

/** A session as its streams see it. */
export interface StreamHost extends PipeSettings {
  /** What each stream begins with, before its kind. */
  readonly prefix: Uint8Array;
  /** The same and the kind of calls. */
  readonly before: Uint8Array;
  readonly schemas: SchemaHandshake;
  /** Streams of the peer's that are not over. */
  readonly peers: Set<Pipe>;
  /** Throws `RpcError` where no call may be made. */
  readonly check: () => void;
  /** Opens a stream for a call. */
  readonly open: (handler: PipeHandler, isNotification: boolean, priority: number | undefined) => Pipe;
  /** The peer goes away; `say` sends a goaway on the lane it said so. */
  onGoaway(stage: number, say: (stage: number) => void): void;
}
