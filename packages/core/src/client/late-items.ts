import type { DuplexStream } from "../call/caller.js";
import { LateDuplex, LateItems } from "../call/items/late-stream.js";
import type { ItemStream, NewItemQueue } from "../call/items/item-stream.js";
import { type LateCall, lateFailure } from "./late-call.js";

/** Returns the items of a call that is made later. */
export function itemsLater(call: LateCall, newQueue?: NewItemQueue): ItemStream<unknown> {
  const late = new LateItems<unknown>(() => takeBack(), newQueue);
  const takeBack = call.queue({
    start(make) {
      const stream = make() as ItemStream<unknown>;
      late.follow(stream, stream);
    },
    fail: (error) => late.fail(lateFailure(call, error)),
  });
  return late.stream;
}

/** Returns both directions of a call that is made later. */
export function duplexLater(call: LateCall): DuplexStream<unknown, unknown> {
  const streams = new LateDuplex<unknown, unknown>(() => takeBack());
  const takeBack = call.queue({
    start: (make) => streams.follow(make() as DuplexStream<unknown, unknown>),
    fail: (error) => streams.fail(lateFailure(call, error)),
  });
  return streams;
}
