import type { DuplexStream } from "../call/base-caller.js";
import { type ItemTarget, cut } from "../call/items/send-items.js";
import { RpcError } from "../errors.js";
import { young } from "../young.js";

/** A call that streams its input, as the writer of its items sees it. */
export interface WrittenCall {
  /** Called at the end, with the error, or undefined after a good one. */
  onOver: ((error: RpcError | undefined) => void) | undefined;
  /** Absent for a call that has not started, or that another caller makes. */
  readonly items?: ItemTarget | undefined;
  /** Set if another caller makes the call. */
  relay?: WritableStreamDefaultWriter<unknown> | undefined;
  /** Called when `items` or `relay` is set, or never will be. */
  onStarted?: (() => void) | undefined;
  giveUp(error: RpcError): void;
}

/**
 * The sending side of a duplex call. A write waits while the callee reads more slowly; closing ends the items, aborting
 * cancels the call. When the call is over, writes fail with its error.
 */
export function callWritable(call: WrittenCall): WritableStream<unknown> {
  let failure: RpcError | undefined;
  // The stream takes no error from its controller during a write or close: these must reject themselves.
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
        // A pending write must settle, or the stream never errors.
        call.onStarted?.();
      });
      // The sink's own `abort` would come only after a write that waits. In a microtask, since Node does not bear a
      // stream that fails while its signal fires.
      const { signal } = controller;
      const giveUp = (): void => {
        if (call.relay === undefined) call.giveUp(RpcError.from(signal.reason, "cancelled"));
        else call.relay.abort(signal.reason).catch(() => {});
      };
      signal.addEventListener("abort", () => queueMicrotask(giveUp));
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
 * Passes what is written to the duplex call that another caller makes in place of `call`. Returns its items. A carrier of
 * `call` itself has only items.
 */
export function relayTo(call: WrittenCall, answer: unknown): unknown {
  const { readable, writable } = answer as Partial<DuplexStream<unknown, unknown>>;
  if (writable === undefined) return answer;
  call.relay = writable.getWriter();
  call.relay.closed.catch((error: unknown) => call.onOver?.(error as RpcError));
  call.onStarted?.();
  return readable;
}

function isStarted({ items, relay }: WrittenCall): boolean {
  return items !== undefined || relay !== undefined;
}

/** Sends one item. If it returns a promise, the next item may follow when it has resolved. */
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
  for (const piece of cut(chunk, size)) await write(items, piece);
}
