import { rawPieceOf } from "../call/raw-pieces.js";
import type { ItemTarget } from "../call/send-items.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { StreamLimits } from "../limits.js";
import { frameOf } from "../wire/one-frame.js";
import * as FrameType from "../wire/frame-type.js";

/** What takes the bytes of a call's own stream. */
export interface ByteSink {
  /** Whether little of what was written waits. */
  readonly room: boolean;
  write(bytes: Uint8Array, end?: boolean): void;
}

/** The items of a call on a byte stream of its own. */
export interface StreamItems extends ItemTarget {
  /** The sink has room again. */
  onRoom(): void;
  /** Nothing more is sent: the callee wants no more, or the call is over. */
  stop(): void;
}

/**
 * The items that a caller streams into a sink, each a frame.
 *
 * @param onFailed the caller's own source failed, or gave what cannot be sent
 */
export function streamItems(
  sink: ByteSink,
  { input }: AnyMethod,
  limits: StreamLimits,
  onFailed: (error: unknown) => void,
): StreamItems {
  let over = false;
  let resume: (() => void) | undefined;
  const wake = (): void => {
    const next = resume;
    resume = undefined;
    next?.();
  };
  const flow = {
    get ready() {
      return over || sink.room;
    },
    wait(next: () => void) {
      resume = next;
      if (flow.ready) wake();
    },
  };
  const items: StreamItems = {
    get over() {
      return over;
    },
    flow,
    rawPiece: rawPieceOf(input, limits),
    onGivenUp: undefined,
    item(item) {
      if (!over) sink.write(frameOf(FrameType.Item, 0, (out) => input?.encode(item, out), limits));
    },
    end() {
      if (over) return;
      sink.write(
        frameOf(FrameType.End, 0, () => {}, limits),
        true,
      );
      items.onGivenUp = undefined;
      items.stop();
    },
    fail(error) {
      if (over) return;
      // The source itself failed, or its pump stops it.
      items.onGivenUp = undefined;
      items.stop();
      onFailed(error);
    },
    onRoom: wake,
    stop() {
      if (over) return;
      over = true;
      wake();
      items.onGivenUp?.();
    },
  };
  return items;
}
