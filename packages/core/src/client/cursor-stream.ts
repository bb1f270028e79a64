import type { BaseCaller } from "../call/base-caller.js";
import { type FedItems, itemQueue, type ItemSink, type ItemStream } from "../call/items/item-stream.js";
import { Positions, type Position } from "../call/items/positions.js";
import { scheduleAttempt } from "../call/backoff.js";
import type { Attempt, CallOptions } from "../call/options.js";
import { CURSOR_ERRORS, type ItemCursor } from "../contract/cursor.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import { Fifo } from "../fifo.js";
import type { Calling } from "./calling.js";
import { foreignServerStreamCalls } from "./foreign-calls.js";
import { serverStreamCalls } from "./server-stream.js";

/** Starts the attempts of a stream. */
type AttemptCaller = Pick<BaseCaller, "begin" | "resumption">;

/** Makes calls whose items have cursors: a stream that lost its session is called again, after the last item. */
export const cursorStreamCalls: Calling<"server_stream"> = around(serverStreamCalls);

/** The same for clients that are generated for HTTP only. */
export const foreignCursorStreamCalls: Calling<"server_stream"> = around(foreignServerStreamCalls);

/** Returns code that makes a stream from several calls in succession, each made by `one`. */
function around(one: Calling<"server_stream">): Calling<"server_stream"> {
  return {
    ...one,
    errors: CURSOR_ERRORS,
    around: (caller, method, input, options) =>
      cursorStream(caller as AttemptCaller, method, input, options as CallOptions | undefined),
  };
}

/** One attempt that is not over. */
interface Running extends Attempt, ItemSink<unknown> {
  source: FedItems | undefined;
}

/**
 * Makes one stream out of several calls in succession. Only the latest attempt feeds it, beginning after the last item
 * of the one before: no item is lost or duplicated. Unread items stay readable after their call is lost.
 */
function cursorStream(
  caller: AttemptCaller,
  method: AnyMethod,
  input: unknown,
  options: CallOptions = {},
): ItemStream<unknown> {
  const since = Date.now();
  const positions = new Positions(method.cursor as ItemCursor, options.from);
  /** The cursors of the items in the queue. */
  const cursors = new Fifo<Position>();
  /** Number of items in the queue whose call is over. */
  let left = 0;
  let running: Running | undefined;
  let failures = 0;
  let lostAt: number | undefined;
  /** Whether a handler has started: from then on no refusal ends the stream. */
  let entered = false;
  let stopWaiting: (() => void) | undefined;

  const queue = itemQueue<unknown>({
    onTaken(size, held) {
      queue.cursor = cursors.shift();
      if (left > 0) left--;
      else running?.source?.taken(size, held);
    },
    onAbandoned() {
      stopWaiting?.();
      leave();
    },
  });

  const remainingMs = (): number | undefined =>
    options.timeoutMs === undefined ? undefined : options.timeoutMs - (Date.now() - since);

  /** Stops feeding the stream from the current attempt. */
  const detach = (): FedItems | undefined => {
    const attempt = running;
    running = undefined;
    left = cursors.length;
    attempt?.onOver?.();
    return attempt?.source;
  };

  /** Stops the current attempt. */
  const leave = (): void => detach()?.leave();

  const begin = (): void => {
    const attempt = newAttempt();
    running = attempt;
    const { last } = positions;
    const stream = caller.begin(method, input, {
      ...options,
      timeoutMs: remainingMs(),
      from: last,
      onResponseMetadata: entered ? undefined : options.onResponseMetadata,
      attempt,
    }) as ItemStream<unknown>;
    queue.answer = stream;
    stream.feed(attempt);
  };

  const end = (error: RpcError | undefined): void => {
    stopWaiting?.();
    queue.end(error && callFailure(error, fullName(method)));
  };

  const fail = (error: RpcError): void => {
    leave();
    end(error);
  };

  const newAttempt = (): Running => {
    let unsuspend = stopWaiting;
    const attempt: Running = {
      source: undefined,
      onOver: undefined,
      onMade() {
        unsuspend?.();
        unsuspend = undefined;
      },
      onLeaving() {
        if (running !== attempt) return;
        leave();
        begin();
      },
      start(source) {
        attempt.source = source;
        // The attempt was left while it was started.
        if (running !== attempt) source.leave();
      },
      push(item, size, held) {
        if (running !== attempt) return;
        entered = true;
        failures = 0;
        lostAt = undefined;
        try {
          if (positions.repeats(item)) attempt.source?.taken(size, held);
          else {
            cursors.push(positions.pass(item));
            queue.push(item, size, held);
          }
        } catch (error) {
          fail(RpcError.from(error, "internal"));
        }
      },
      end(error) {
        if (running !== attempt) return;
        detach();
        if (error === undefined) end(undefined);
        else lost(RpcError.from(error));
      },
    };
    return attempt;
  };

  const lost = (error: RpcError): void => {
    const { resumption } = caller;
    const forMs = options.resumeForMs ?? resumption?.forMs ?? 0;
    lostAt ??= Date.now();
    const isFinal = error.code !== "unavailable" || (error.refused && !entered) || Date.now() - lostAt > forMs;
    if (resumption === undefined || isFinal) {
      end(error);
      return;
    }
    entered = true;
    const unsuspend = resumption.suspend(fail);
    stopWaiting?.();
    wait(unsuspend);
  };

  /** Starts the next attempt after a delay. */
  const wait = (unsuspend: () => void): void => {
    const stop = scheduleAttempt(failures++, begin, { options, timeoutMs: remainingMs(), giveUp: end });
    stopWaiting = () => {
      stopWaiting = undefined;
      stop();
      unsuspend();
    };
  };

  begin();
  return queue.stream;
}
