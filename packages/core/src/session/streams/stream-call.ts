import { errorOf } from "../../call/fault.js";
import type { ItemQueue } from "../../call/item-stream.js";
import { type CallOptions, cancelled, parentEnded, throwIfAborted, timeoutOf } from "../../call/options.js";
import { oversized } from "../../call/oversized.js";
import { rawPieceOf } from "../../call/raw-pieces.js";
import type { SchemaHandshake } from "../../call/schemas.js";
import type { ItemTarget } from "../../call/send-items.js";
import type { NewCall, SendingCall } from "../../client/calling.js";
import { requestHead } from "../../client/invoke.js";
import type { AnyMethod } from "../../contract/descriptor.js";
import { type Code, codeNumber, ProtocolError, RpcError } from "../../errors.js";
import { guarded } from "../../guarded.js";
import type { ByteWriter } from "../../wire/byte-writer.js";
import { Cursor } from "../../wire/cursor.js";
import { readFault } from "../../wire/fault.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame, FrameType } from "../../wire/frame.js";
import { type Head, writeHead } from "../../wire/head.js";
import { decodeMetadata } from "../../wire/metadata.js";
import { readOptionalHead, writeMethodId } from "../../wire/request.js";
import { frameOf } from "./frames.js";
import { NO_ERROR, type Pipe, type PipeHandler, type PipeSettings } from "./pipe.js";

/** Received and unread bytes of items at which the stream is not read on. */
const PAUSE_AT = 256 * 1024;
const NOTHING = new Uint8Array(0);

/** What a call needs of its session. */
export interface StreamCallHost extends PipeSettings {
  readonly schemas: SchemaHandshake;
  /** Throws `RpcError` where no call may be made. */
  check(): void;
  /** Opens a stream. */
  open(handler: PipeHandler, isNotification: boolean): Pipe;
  /** What each call's stream begins with. */
  readonly before: Uint8Array;
}

/** One call on a stream of its own. */
export function streamCall(host: StreamCallHost, method: AnyMethod, options: CallOptions | undefined): NewCall {
  const { limits, schemas } = host;
  let pipe: Pipe | undefined;
  let over = false;
  let answered = false;
  let unread = 0;
  let undo: (() => void)[] = [];
  let queue: ItemQueue<unknown> | undefined;
  let items: (ItemTarget & { stop(): void }) | undefined;
  let onAnswer: (value: unknown) => void;
  let onEnd: (error: RpcError | undefined) => void;

  const settle = (error: RpcError | undefined): void => {
    if (over) return;
    over = true;
    for (const each of undo) each();
    items?.stop();
    onEnd(error);
  };
  const giveUp = (error: RpcError, code: Code = error.code): void => {
    if (over) return;
    settle(error);
    pipe?.cancel(codeNumber(code));
  };

  const tell = (hook: "onHeader" | "onTrailer", raw: Uint8Array | undefined): void => {
    const told = options?.[hook];
    if (told !== undefined) guarded(told)(decodeMetadata(raw));
  };
  const hear = (head: Head | undefined, last: boolean): void => {
    if (queue !== undefined && head !== undefined) {
      const metadata = queue.answer?.metadata ?? decodeMetadata(head.metadata);
      queue.answer = { metadata, trailers: decodeMetadata(head.trailers) };
    }
    if (!answered) {
      answered = true;
      if (head?.fingerprint !== undefined) schemas.learn(method, head.fingerprint);
      tell("onHeader", head?.metadata);
    }
    if (last) tell("onTrailer", head?.trailers);
  };
  const decode = ({ flags }: Frame, { bytes, position, end }: Cursor): unknown => {
    if ((flags & FLAG_COMPRESSED) !== 0) throw new RpcError("unimplemented", "compression is not known here");
    return method.output?.decode(bytes, position, end);
  };
  /** The callee's last frame has come: it wants nothing more. */
  const last = (error: RpcError | undefined): void => {
    settle(error);
    pipe?.abandon(NO_ERROR);
  };

  const handler: PipeHandler = {
    get paused() {
      return unread >= PAUSE_AT && !over;
    },
    onFrame(frame) {
      const { type, size } = frame;
      if (over || frame.callId !== 0) throw new ProtocolError("a frame that belongs to no call");
      if (frame.oversized) {
        giveUp(oversized(frame, limits));
        return;
      }
      if (type === FrameType.Error) {
        const fault = readFault(frame, limits.maxMetadataBytes, () => {
          throw new RpcError("unimplemented", "compression is not known here");
        });
        hear(fault.head, true);
        last(errorOf(fault, method));
        return;
      }
      const cursor = new Cursor(frame.bytes, frame.start, frame.end);
      try {
        const head = readOptionalHead(frame, cursor, limits.maxMetadataBytes);
        if (type === FrameType.Headers) {
          if (answered) throw new ProtocolError("headers after the callee began to answer");
          hear(head, false);
        } else if (type === (queue === undefined ? FrameType.Response : FrameType.End)) {
          hear(head, true);
          if (queue === undefined) onAnswer(decode(frame, cursor));
          last(undefined);
        } else if (queue !== undefined && type === FrameType.Item) {
          if (!answered) hear(undefined, false);
          const item = decode(frame, cursor);
          unread += size;
          queue.push(item, size);
        } else if (queue !== undefined && type === FrameType.HalfEnd) {
          queue.end(undefined);
        } else if (type === FrameType.Response || type === FrameType.End || type === FrameType.Item || type === FrameType.HalfEnd) {
          giveUp(new RpcError("internal", `a frame of type ${type} is no answer to ${method.name}`));
        } else {
          throw new ProtocolError(`frame type ${type} is not for the caller`);
        }
      } catch (error) {
        if (error instanceof ProtocolError) throw error;
        giveUp(schemas.unreadable(method, error));
      }
    },
    onOver: (error) => settle(error ?? new RpcError("internal", "the stream ended before the call did")),
    onStopped: () => items?.stop(),
    onRoom: () => items?.flow.wait(() => {}),
    onDone() {},
  };

  const frame = (type: number, write: (out: ByteWriter) => void, before: Uint8Array): Uint8Array => {
    try {
      return frameOf(type, 0, write, limits, before);
    } catch (error) {
      throw RpcError.from(error, "invalid_argument");
    }
  };
  /** Sends the request. Throws `RpcError`. */
  const request = (type: number, input: unknown, timeoutMs: number | undefined): void => {
    const given = requestHead(timeoutMs, options, limits);
    host.check();
    const fingerprint = schemas.greet(method);
    const head = fingerprint === undefined ? given : { ...given, fingerprint };
    const bytes = frame(
      head === undefined ? type : type | FLAG_HEAD,
      (out) => {
        out.reserve(16);
        writeMethodId(out, method.service.id, method.id);
        if (head !== undefined) writeHead(out, head);
        if (items === undefined) method.input?.encode(input, out);
      },
      host.before,
    );
    if (over) return;
    pipe = host.open(handler, type === FrameType.Notify);
    const priority = options?.priority ?? method.priority;
    if (priority !== undefined) pipe.setPriority(priority);
    pipe.write(bytes, items === undefined);
  };
  const watch = (timeoutMs: number | undefined): void => {
    if (timeoutMs !== undefined) {
      const timer = setTimeout(
        () => giveUp(new RpcError("deadline_exceeded", `no answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      undo.push(() => clearTimeout(timer));
    }
    const follow = (signal: AbortSignal | undefined, errorOf: (signal: AbortSignal) => RpcError): void => {
      if (signal === undefined) return;
      const listener = (): void => giveUp(errorOf(signal));
      signal.addEventListener("abort", listener);
      undo.push(() => signal.removeEventListener("abort", listener));
    };
    follow(options?.signal, cancelled);
    follow(options?.parent?.signal, parentEnded);
  };
  const start = (input: unknown): void => {
    try {
      const timeoutMs = timeoutOf(options, limits);
      throwIfAborted(options);
      // Before the request is encoded, which runs user code: it may fire the signal.
      watch(timeoutMs);
      request(FrameType.Request, input, timeoutMs);
    } catch (error) {
      items = undefined;
      settle(RpcError.from(error, "internal"));
    }
  };
  const streamInput = (): void => {
    let resume: (() => void) | undefined;
    const flow = {
      get ready() {
        return own.over || (pipe?.room ?? true);
      },
      wait(next: () => void) {
        resume = next;
        if (flow.ready) wakeUp();
      },
    };
    const wakeUp = (): void => {
      const next = resume;
      resume = undefined;
      next?.();
    };
    const own: ItemTarget & { stop(): void; over: boolean } = {
      over: false,
      flow,
      rawPiece: rawPieceOf(method.input, limits),
      onGivenUp: undefined,
      item(item) {
        if (!own.over) pipe?.write(frame(FrameType.Item, (out) => method.input?.encode(item, out), NOTHING));
      },
      end() {
        if (own.over) return;
        pipe?.write(frame(FrameType.End, () => {}, NOTHING), true);
        own.onGivenUp = undefined;
        own.stop();
      },
      fail(error) {
        if (own.over) return;
        own.onGivenUp = undefined;
        own.stop();
        giveUp(RpcError.from(error, "unknown"), "cancelled");
      },
      stop() {
        if (own.over) return;
        own.over = true;
        wakeUp();
        own.onGivenUp?.();
      },
    };
    handler.onRoom = wakeUp;
    items = own;
  };
  const streamOutput = (Queue: typeof ItemQueue): ItemQueue<unknown> => {
    const own: ItemQueue<unknown> = new Queue({
      onTaken(size) {
        unread -= size;
        pipe?.poke();
      },
      onAbandoned: () => giveUp(new RpcError("cancelled", "the caller wants no more items")),
    });
    queue = own;
    onEnd = (error) => own.end(error);
    return own;
  };

  return {
    notify(input) {
      onEnd = () => {};
      timeoutOf(options, limits);
      throwIfAborted(options);
      request(FrameType.Notify, input, undefined);
    },
    answered(input, resolve, reject, Items) {
      onAnswer = resolve;
      onEnd = (error) => {
        if (error !== undefined) reject(error);
      };
      if (Items !== undefined) streamInput();
      start(input);
      return items;
    },
    streamed(input, Queue) {
      const { stream } = streamOutput(Queue);
      start(input);
      return stream;
    },
    duplex(Queue, _Items, writableOf) {
      const { stream, end } = streamOutput(Queue);
      void end;
      const sending: SendingCall = {
        get items() {
          return items;
        },
        onOver: undefined,
        giveUp,
      };
      const endItems = onEnd;
      onEnd = (error) => {
        endItems(error);
        sending.onOver?.(error);
      };
      const writable = writableOf(sending);
      streamInput();
      start(undefined);
      return { readable: stream, writable };
    },
  };
}
