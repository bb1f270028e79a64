import { RpcError } from "../errors.js";
import type { StreamedCall } from "./calls.js";

/**
 * The sending side of a duplex call. A write waits while the callee does not keep up; closing ends the items, aborting
 * cancels the call. When the call is over, writes fail with its error.
 */
export function callWritable(call: StreamedCall): WritableStream<unknown> {
  return new WritableStream<unknown>({
    start(controller) {
      call.onOver = (error) => controller.error(error ?? new RpcError("cancelled", "the call is over"));
    },
    write(item) {
      const { items } = call;
      if (items === undefined) return undefined;
      items.item(item);
      if (items.flow.ready) return undefined;
      return new Promise<void>((resolve) => items.flow.wait(resolve));
    },
    close() {
      call.items?.end();
    },
    abort(reason) {
      call.giveUp(RpcError.from(reason ?? new RpcError("cancelled", "the sending side was aborted"), "cancelled"));
    },
  });
}
