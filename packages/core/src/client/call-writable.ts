import type { DuplexStream } from "../call/base-caller.js";
import { type ItemTarget, cut } from "../call/items/send-items.js";
import { RpcError } from "../errors.js";
import { young } from "../young.js";

export interface WrittenCall {
  /** Called when the call has ended: with its error, or with undefined if it succeeded. */
  onOver: ((error: RpcError | undefined) => void) | undefined;
  /** Sends the written items. Absent before the call has started, and if another caller makes the call. */
  readonly items?: ItemTarget | undefined;
  /**
   * Writer of the call that another caller makes in place of this one. Undefined if this side makes the call itself.
   */
  relay?: WritableStreamDefaultWriter<unknown> | undefined;
  /** Called when `items` or `relay` is set, or when the call ends before that. */
  onStarted?: (() => void) | undefined;
  cancel(error: RpcError): void;
}

/**
 * Creates the `writable` of a duplex call. A write stays pending while the callee reads more slowly than the caller
 * writes. Closing the stream ends the items, aborting it cancels the call. After the call has ended, writes fail with
 * its error.
 */
export function callWritable(call: WrittenCall): WritableStream<unknown> {
  let failure: RpcError | undefined;
  // During a write or close, `controller.error` does not settle that operation: it must reject itself.
  const ready = async (): Promise<void> => {
    if (!isStarted(call)) await new Promise<void>((resolve) => (call.onStarted = resolve));
    if (failure !== undefined) throw failure;
  };
  const send = (item: unknown): Promise<void> | undefined => {
    const { relay } = call;
    if (relay !== undefined) return relay.write(item);
    const items = call.items as ItemTarget;
    return items.rawPiece === undefined ? write(items, item) : writeRaw(items, item, items.rawPiece);
  };
  return new WritableStream<unknown>({
    start(controller) {
      call.onOver = young((error) => {
        failure = error ?? new RpcError("cancelled", "the call is over");
        controller.error(failure);
        // A pending write must settle before the stream can fail.
        call.onStarted?.();
      });
      // The `abort` method of the sink would be called only after a pending write. Runs in a microtask, because Node
      // does not allow a stream to fail while its abort signal is firing.
      const { signal } = controller;
      const cancelCall = (): void => {
        if (call.relay === undefined) call.cancel(RpcError.from(signal.reason, "cancelled"));
        else call.relay.abort(signal.reason).catch(() => {});
      };
      signal.addEventListener("abort", () => queueMicrotask(cancelCall));
    },
    write: (item) => (isStarted(call) ? send(item) : ready().then(() => send(item))),
    async close() {
      await ready();
      call.items?.end();
      await call.relay?.close();
    },
  });
}

/**
 * Forwards the items written to `call` to another duplex call, which another caller makes in its place. Returns the
 * readable side of that call, or `response` itself if it is not a duplex call.
 */
export function relayTo(call: WrittenCall, response: unknown): unknown {
  const { readable, writable } = response as Partial<DuplexStream<unknown, unknown>>;
  if (writable === undefined) return response;
  call.relay = writable.getWriter();
  call.relay.closed.catch((error: unknown) => call.onOver?.(error as RpcError));
  call.onStarted?.();
  return readable;
}

function isStarted({ items, relay }: WrittenCall): boolean {
  return items !== undefined || relay !== undefined;
}

/**
 * Sends one item. The returned promise resolves when the next item may be sent; undefined if it may be sent at once.
 */
function write(items: ItemTarget, item: unknown): Promise<void> | undefined {
  try {
    items.item(item);
  } catch (error) {
    items.fail(error);
    throw error;
  }
  if (items.flow.ready) return undefined;
  return new Promise<void>((resolve) => items.flow.wait(resolve));
}

async function writeRaw(items: ItemTarget, chunk: unknown, size: number): Promise<void> {
  for (const part of cut(chunk, size)) await write(items, part);
}
