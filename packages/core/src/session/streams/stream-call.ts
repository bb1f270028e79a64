import { errorOf } from "../../call/fault.js";
import type { ItemQueue, NewItemQueue } from "../../call/item-stream.js";
import { type CallOptions, cancelled, parentEnded, timeoutOf } from "../../call/options.js";
import { oversized } from "../../call/oversized.js";
import type { InputCode, NewCall, SendingCall } from "../../client/calling.js";
import { requestHead } from "../../client/invoke.js";
import type { StreamItems } from "../../client/stream-items.js";
import type { AnyMethod } from "../../contract/descriptor.js";
import { callFailure, type Code, codeNumber, ProtocolError, RpcError } from "../../errors.js";
import { guarded } from "../../guarded.js";
import type { Metadata } from "../../metadata.js";
import { Cursor } from "../../wire/cursor.js";
import { readFaultBody, readFaultHead } from "../../wire/fault.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "../../wire/frame.js";
import { type Head, writeCallerHead } from "../../wire/head.js";
import { decodeMetadata } from "../../wire/metadata.js";
import { frameOf } from "../../wire/one-frame.js";
import { readOptionalHead, writeMethodId } from "../../wire/request.js";
import type { StreamHost } from "./host.js";
import type { Pipe, PipeHandler } from "./pipe.js";
import { unexpected } from "./frames.js";
import * as FrameType from "../../wire/frame-type.js";

/** Received and unread bytes of items at which the stream is not read on. */
const PAUSE_AT = 256 * 1024;
/** The types of frames that a callee may send, one bit each: response to end, headers and half end. */
const CALLEE_TYPES = 0x4278;

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
  let metadata: Metadata;
  let queue: ItemQueue<unknown> | undefined;
  let onEnd: (error: RpcError | undefined, answer: unknown) => void;
  let items: StreamItems | undefined;
  /** What ends the watch over signals and time. */
  const unwatch: (() => void)[] = [];

  const settle = (error?: RpcError, answer?: unknown): void => {
    if (over) return;
    over = true;
    for (const each of unwatch) each();
    items?.stop();
    if (error !== undefined) callFailure(error);
    onEnd(error, answer);
  };
  const giveUp = (error: RpcError, code: Code = error.code): void => {
    if (over) return;
    settle(error);
    pipe?.cancel(codeNumber(code));
  };
  /** The callee's last frame has come: it wants nothing more. */
  const last = (error?: RpcError, answer?: unknown): void => {
    settle(error, answer);
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
      const { type, flags, bytes, start, end } = frame;
      const isAllowed = ((CALLEE_TYPES >> type) & 1) === 1 && !(answered && type === FrameType.Headers);
      if (over || !isAllowed || frame.callId !== 0) throw unexpected(frame);
      const cursor = new Cursor(bytes, start, end);
      if (frame.oversized) {
        giveUp(oversized(frame, limits));
      } else if ((flags & FLAG_COMPRESSED) !== 0) {
        giveUp(new RpcError("unimplemented", "the peer compresses unasked"));
      } else if (type === FrameType.Error) {
        const head = readFaultHead(frame, cursor, limits.maxMetadataBytes);
        const error = errorOf(readFaultBody(cursor, head), method);
        hear(head, true);
        last(error);
      } else {
        onAnswer(frame, cursor);
      }
    },
    onOver: (error = new RpcError("internal", "the stream ended before the call did")) => settle(error),
    onStopped: () => items?.stop(),
    onRoom: () => items?.onRoom(),
  };
  const onAnswer = (frame: Frame, cursor: Cursor): void => {
    const { type, size } = frame;
    try {
      const head = readOptionalHead(frame, cursor, limits.maxMetadataBytes);
      const decode = (): unknown => method.output?.decode(frame.bytes, cursor.position, frame.end);
      if (type === FrameType.Headers) {
        hear(head);
      } else if (type === (queue === undefined ? FrameType.Response : FrameType.End)) {
        hear(head, true);
        last(undefined, queue ?? decode());
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
  };

  const watch = (timeoutMs: number | undefined): void => {
    if (timeoutMs !== undefined) {
      const expire = (): void => giveUp(new RpcError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
      const timer = setTimeout(expire, timeoutMs);
      unwatch.push(() => clearTimeout(timer));
    }
    const follow = (signal: AbortSignal | undefined, errorOf: (signal: AbortSignal) => RpcError): void => {
      if (signal === undefined) return;
      if (signal.aborted) throw errorOf(signal);
      const onAbort = (): void => giveUp(errorOf(signal));
      signal.addEventListener("abort", onAbort);
      unwatch.push(() => signal.removeEventListener("abort", onAbort));
    };
    follow(options?.signal, cancelled);
    follow(options?.parent?.signal, parentEnded);
  };
  /** Sends the request; whatever fails on the way ends the call. */
  const start = (type: number, input: unknown, code?: InputCode): void => {
    try {
      const timeoutMs = timeoutOf(options, limits);
      const isCall = type === FrameType.Request;
      // Before the request is encoded: that runs user code, which may fire the signal.
      watch(isCall ? timeoutMs : undefined);
      const given = requestHead(isCall ? timeoutMs : undefined, options, limits);
      check();
      const fingerprint = schemas.greet(method);
      const head = fingerprint === undefined ? given : { ...given, fingerprint };
      const bytes = frameOf(
        head === undefined ? type : type | FLAG_HEAD,
        0,
        (out) => {
          writeMethodId(out, method.service.id, method.id);
          if (head !== undefined) writeCallerHead(out, head);
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
      let failure: RpcError | undefined;
      onEnd = (error) => void (failure = error);
      start(FrameType.Notify, input);
      settle();
      if (failure !== undefined) throw failure;
    },
    answered(input, resolve, reject, code) {
      onEnd = (error, answer) => (error === undefined ? resolve(answer) : reject(error));
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
