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

type AttemptCaller = Pick<BaseCaller, "begin" | "resumption">;

/**
 * Server-streaming calls whose items have cursors. If the session is lost, the method is called again on another
 * session and continues after the last received item.
 */
export const cursorStreamCalls: Calling<"server_stream"> = around(serverStreamCalls);

/** Server-streaming calls with cursors, for clients that are generated for HTTP only. */
export const foreignCursorStreamCalls: Calling<"server_stream"> = around(foreignServerStreamCalls);

/** Returns calling code that resumes a stream by consecutive calls of the kind `calling`. */
function around(calling: Calling<"server_stream">): Calling<"server_stream"> {
  return {
    ...calling,
    errors: CURSOR_ERRORS,
    around: (caller, method, input, options) =>
      cursorStream(caller as AttemptCaller, method, input, options as CallOptions | undefined),
  };
}

interface Running extends Attempt, ItemSink<unknown> {
  source: FedItems | undefined;
}

/**
 * Makes one stream of several consecutive calls. Each call continues after the last item of the call before, so no item
 * is lost or duplicated. Items that were received before a session was lost can still be read.
 */
function cursorStream(
  caller: AttemptCaller,
  method: AnyMethod,
  input: unknown,
  options: CallOptions = {},
): ItemStream<unknown> {
  const startedAt = Date.now();
  const positions = new Positions(method.cursor as ItemCursor, options.from);
  const cursors = new Fifo<Position>();
  /** Number of unread items that an earlier call has delivered. */
  let skipped = 0;
  let running: Running | undefined;
  let failures = 0;
  let lostAt: number | undefined;
  /** Whether any call has reached a handler. From then on, refused calls are retried. */
  let entered = false;
  let stopWaiting: (() => void) | undefined;

  const queue = itemQueue<unknown>({
    onTaken(size, held) {
      queue.cursor = cursors.shift();
      if (skipped > 0) skipped--;
      else running?.source?.resumed(size, held);
    },
    onAbandoned() {
      stopWaiting?.();
      leaveStream();
    },
  });

  const remainingMs = (): number | undefined =>
    options.timeoutMs === undefined ? undefined : options.timeoutMs - (Date.now() - startedAt);

  const detach = (): FedItems | undefined => {
    const attempt = running;
    running = undefined;
    skipped = cursors.length;
    attempt?.onOver?.();
    return attempt?.source;
  };

  const leaveStream = (): void => detach()?.leaveOnce();

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

  const failStream = (error: RpcError): void => {
    leaveStream();
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
        leaveStream();
        begin();
      },
      start(source) {
        attempt.source = source;
        // The call was abandoned while it was being started.
        if (running !== attempt) source.leaveOnce();
      },
      push(item, size, held) {
        if (running !== attempt) return;
        entered = true;
        failures = 0;
        lostAt = undefined;
        try {
          if (positions.repeats(item)) attempt.source?.resumed(size, held);
          else {
            cursors.push(positions.pass(item));
            queue.push(item, size, held);
          }
        } catch (error) {
          failStream(RpcError.from(error, "internal"));
        }
      },
      end(error) {
        if (running !== attempt) return;
        detach();
        if (error === undefined) end(undefined);
        else onLost(RpcError.from(error));
      },
    };
    return attempt;
  };

  const onLost = (error: RpcError): void => {
    const { resumption } = caller;
    const forMs = options.resumeForMs ?? resumption?.forMs ?? 0;
    lostAt ??= Date.now();
    const isFinal = error.code !== "unavailable" || (error.refused && !entered) || Date.now() - lostAt > forMs;
    if (resumption === undefined || isFinal) {
      end(error);
      return;
    }
    entered = true;
    const unsuspend = resumption.suspend(failStream);
    stopWaiting?.();
    waitForSession(unsuspend);
  };

  const waitForSession = (unsuspend: () => void): void => {
    const stop = scheduleAttempt(failures++, begin, { options, timeoutMs: remainingMs(), cancel: end });
    stopWaiting = () => {
      stopWaiting = undefined;
      stop();
      unsuspend();
    };
  };

  begin();
  return queue.stream;
}
