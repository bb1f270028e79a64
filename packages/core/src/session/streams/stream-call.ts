import { errorOf } from "../../call/fault.js";
import type { ItemQueue, NewItemQueue } from "../../call/item-stream.js";
import { type CallOptions, cancelled, parentEnded, throwIfAborted, timeoutOf } from "../../call/options.js";
import { oversized } from "../../call/oversized.js";
import type { InputCode, NewCall, SendingCall } from "../../client/calling.js";
import { requestHead } from "../../client/invoke.js";
import type { StreamItems } from "../../client/stream-items.js";
import type { AnyMethod } from "../../contract/descriptor.js";
import { type Code, codeNumber, ProtocolError, RpcError } from "../../errors.js";
import { guarded } from "../../guarded.js";
import { Metadata } from "../../metadata.js";
import { Cursor } from "../../wire/cursor.js";
import { readFault } from "../../wire/fault.js";
import { FLAG_COMPRESSED, FLAG_HEAD, FrameType } from "../../wire/frame.js";
import { type Head, writeHead } from "../../wire/head.js";
import { decodeMetadata } from "../../wire/metadata.js";
import { frameOf } from "../../wire/one-frame.js";
import { readOptionalHead, writeMethodId } from "../../wire/request.js";
import type { StreamHost } from "./host.js";
import type { Pipe, PipeHandler } from "./pipe.js";

/** Received and unread bytes of items at which the stream is not read on. */
const PAUSE_AT = 256 * 1024;
/** The types of frames that a callee may send, one bit each: response, item, end, headers and half end. */
const CALLEE_TYPES = 0x4268;

function compressed(): never {
  throw new RpcError("unimplemented", "the peer compresses, which was not offered");
}

/** One call on a stream of its own. */
export function streamCall(
  { limits, schemas, before, check, open }: StreamHost,
  method: AnyMethod,
  options: CallOptions | undefined,
): NewCall {
  let pipe: Pipe | undefined;
  let over = false;
  let answered = false;
  let itemsOver = false;
  let unread = 0;
  let metadata = new Metadata();
  let queue: ItemQueue<unknown> | undefined;
  let onAnswer: (value: unknown) => void;
  let onEnd: (error: RpcError | undefined) => void;
  let items: StreamItems | undefined;
  /** What ends the watch over signals and time. */
  const unwatch: (() => void)[] = [];

  const settle = (error?: RpcError): void => {
    if (over) return;
    over = true;
    for (const each of unwatch) each();
    items?.stop();
    onEnd(error);
  };
  const giveUp = (error: RpcError, code: Code = error.code): void => {
    if (over) return;
    settle(error);
    pipe?.cancel(codeNumber(code));
  };
  /** The callee's last frame has come: it wants nothing more. */
  const last = (error?: RpcError): void => {
    settle(error);
    pipe?.abandon();
  };
  const tell = (hook: ((told: Metadata) => void) | undefined, told: Metadata): void => {
    if (hook !== undefined) guarded(hook)(told);
  };
  const hear = (head: Head | undefined, isLast?: boolean): void => {
    if (!answered) {
      answered = true;
      metadata = decodeMetadata(head?.metadata);
      if (head?.fingerprint !== undefined) schemas.learn(method, head.fingerprint);
      tell(options?.onHeader, metadata);
    }
    const trailers = decodeMetadata(head?.trailers);
    if (isLast) tell(options?.onTrailer, trailers);
    if (queue !== undefined) queue.answer = { metadata, trailers };
  };

  const handler: PipeHandler = {
    get paused() {
      return unread >= PAUSE_AT && !over;
    },
    onFrame(frame) {
      const { type, flags, size, bytes, start, end } = frame;
      if (over || frame.callId !== 0) throw new ProtocolError("a frame of no call");
      if (frame.oversized) {
        giveUp(oversized(frame, limits));
        return;
      }
      if (type === FrameType.Error) {
        const fault = readFault(frame, limits.maxMetadataBytes, compressed);
        hear(fault.head, true);
        last(errorOf(fault, method));
        return;
      }
      if (((CALLEE_TYPES >> type) & 1) === 0) throw new ProtocolError(`frame type ${type} is not for the caller`);
      try {
        const cursor = new Cursor(bytes, start, end);
        const head = readOptionalHead(frame, cursor, limits.maxMetadataBytes);
        const decode = (): unknown => {
          if ((flags & FLAG_COMPRESSED) !== 0) compressed();
          return method.output?.decode(bytes, cursor.position, end);
        };
        if (type === FrameType.Headers) {
          if (answered) throw new ProtocolError("headers after the callee began to answer");
          hear(head);
        } else if (queue === undefined && type === FrameType.Response) {
          hear(head, true);
          onAnswer(decode());
          last();
        } else if (queue !== undefined && type === FrameType.End) {
          hear(head, true);
          last();
        } else if (queue !== undefined && type === FrameType.HalfEnd) {
          itemsOver = true;
          queue.end(undefined);
        } else if (queue !== undefined && type === FrameType.Item && !itemsOver) {
          if (!answered) hear(undefined);
          const item = decode();
          unread += size;
          queue.push(item, size);
        } else {
          giveUp(new RpcError("internal", `frame type ${type} does not answer ${method.name}`));
        }
      } catch (error) {
        if (error instanceof ProtocolError) throw error;
        giveUp(schemas.unreadable(method, error));
      }
    },
    onOver: (error = new RpcError("internal", "the stream ended before the call did")) => settle(error),
    onStopped: () => items?.stop(),
    onRoom: () => items?.onRoom(),
  };

  const watch = (timeoutMs: number | undefined): void => {
    if (timeoutMs !== undefined) {
      const expire = (): void => giveUp(new RpcError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
      const timer = setTimeout(expire, timeoutMs);
      unwatch.push(() => clearTimeout(timer));
    }
    const follow = (signal: AbortSignal | undefined, errorOf: (signal: AbortSignal) => RpcError): void => {
      const onAbort = (): void => giveUp(errorOf(signal as AbortSignal));
      signal?.addEventListener("abort", onAbort);
      unwatch.push(() => signal?.removeEventListener("abort", onAbort));
    };
    follow(options?.signal, cancelled);
    follow(options?.parent?.signal, parentEnded);
  };
  /** Sends the request; whatever fails on the way ends the call. */
  const start = (type: number, input: unknown, code?: InputCode): void => {
    try {
      const timeoutMs = timeoutOf(options, limits);
      throwIfAborted(options);
      const isCall = type === FrameType.Request;
      const given = requestHead(isCall ? timeoutMs : undefined, options, limits);
      check();
      const fingerprint = schemas.greet(method);
      const head = fingerprint === undefined ? given : { ...given, fingerprint };
      // Before the request is encoded: that runs user code, which may fire the signal.
      if (isCall) watch(timeoutMs);
      const bytes = frameOf(
        head === undefined ? type : type | FLAG_HEAD,
        0,
        (out) => {
          writeMethodId(out, method.service.id, method.id);
          if (head !== undefined) writeHead(out, head);
          if (code === undefined) method.input?.encode(input, out);
        },
        limits,
        before,
      );
      if (over) return;
      pipe = open(handler, !isCall, options?.priority ?? method.priority);
      pipe.write(bytes, code === undefined);
      items = code?.streamItems(pipe, method, limits, (error) => giveUp(RpcError.from(error), "cancelled"));
    } catch (error) {
      settle(RpcError.from(error, "invalid_argument"));
    }
  };
  const streamed = (input: unknown, newQueue: NewItemQueue, code?: InputCode): ItemQueue<unknown>["stream"] => {
    const own: ItemQueue<unknown> = newQueue({
      onTaken(size) {
        unread -= size;
        pipe?.poke();
      },
      onAbandoned: () => giveUp(new RpcError("cancelled", "the caller wants no more items")),
    });
    queue = own;
    onEnd = (error) => {
      own.end(error);
      call.onOver?.(error);
    };
    start(FrameType.Request, input, code);
    return own.stream;
  };

  const call: NewCall & SendingCall = {
    get items() {
      return items;
    },
    onOver: undefined,
    giveUp,
    notify(input) {
      onEnd = (error) => {
        if (error !== undefined) throw error;
      };
      start(FrameType.Notify, input);
      over = true;
    },
    answered(input, resolve, reject, code) {
      onAnswer = resolve;
      onEnd = (error) => {
        if (error !== undefined) reject(error);
      };
      start(FrameType.Request, input, code);
      return items;
    },
    streamed,
    duplex(newQueue, code, writableOf) {
      // Before the start, so that it hears of a call that cannot be started.
      const writable = writableOf(call);
      return { readable: streamed(undefined, newQueue, code), writable };
    },
  };
  return call;
}
