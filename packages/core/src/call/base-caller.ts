import type { AnyMethod, MethodDescriptor, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { CallOptions } from "./options.js";
import type { StreamSource } from "./items/send-items.js";
import type { ItemStream } from "./items/item-stream.js";

/** The two streams of a duplex call: messages from the peer and messages to the peer. */
export interface DuplexStream<Sent, Result> {
  /** The messages that the peer sends. Cancelling this stream cancels the call. */
  readonly readable: ItemStream<Result>;
  /**
   * Sends the messages written to it. A write stays pending while the peer reads more slowly than the messages are
   * written. Closing the stream ends only this direction.
   */
  readonly writable: WritableStream<Sent>;
}

export interface CallInputs<Sent> {
  readonly unary: Sent;
  readonly notify: Sent;
  readonly server_stream: Sent;
  /** The items to send. The call reads the next item when the peer can accept it. */
  readonly client_stream: StreamSource<Sent>;
  /** A duplex call takes no input: the caller writes messages to `writable` of the returned object. */
  readonly duplex: undefined;
}

/**
 * Type of the value that a call returns, for each kind of method. Starting a call never throws: if the call fails, the
 * promise rejects or the stream fails.
 */
export interface CallAnswers<Sent, Result> {
  readonly unary: Promise<Result>;
  /** Resolves when the notification has been handed to the transport. The caller does not learn whether it arrives. */
  readonly notify: Promise<void>;
  readonly server_stream: ItemStream<Result>;
  /** Resolves with the response. The response may arrive before all items have been sent. */
  readonly client_stream: Promise<Result>;
  /**
   * Closing `writable` ends the items of the caller. Cancelling `readable`, or leaving a loop over it, cancels the
   * call.
   */
  readonly duplex: DuplexStream<Sent, Result>;
}

/**
 * An object that makes calls: a session, a connection, a pool, or a server in the same process. Generated clients need
 * no more than this interface.
 */
export interface Caller {
  /** Starts a call of any kind. Never throws: the returned promise or stream reports a failure as `RpcError`. */
  start<Kind extends MethodKind, Sent, Received, Returned, Result>(
    method: MethodDescriptor<Kind, Sent, Received, Returned, Result>,
    input: CallInputs<Sent>[Kind],
    options?: CallOptions,
  ): CallAnswers<Sent, Result>[Kind];
}

/**
 * Starts a call of any kind, without static types of its messages. Never throws: the returned promise or stream, a
 * member of `CallAnswers`, reports a failure.
 */
export type BeginCall = (method: AnyMethod, input: unknown, options: CallOptions | undefined) => AnyAnswer;

/** Registry of streams that have lost their session and wait to be resumed on another one. */
export interface Resumption {
  /**
   * The caller that makes the attempts of resumable calls. Undefined if the caller's sessions may lead to different
   * server processes.
   */
  readonly owner?: BaseCaller | undefined;
  /** Name of the peer, for error messages. */
  readonly peer?: string | undefined;
  /**
   * How long a stream tries to resume after its session was lost, in milliseconds. The call option `resumeForMs`
   * overrides it.
   */
  readonly forMs: number;
  /**
   * Registers a stream that waits to be resumed, and returns a function that removes it. The registry calls `fail` if
   * no further calls will be made, for example because the connection was closed.
   */
  suspend(fail: (error: RpcError) => void): () => void;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the messages are of any types
export type AnyAnswer = CallAnswers<any, any>[MethodKind];

/** Base class of callers. Subclasses implement the untyped `begin`; this class adds the typed methods. */
export abstract class BaseCaller implements Caller {
  abstract begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer;

  /** Registry of streams that wait to be resumed. Undefined if this caller cannot resume streams. */
  get resumption(): Resumption | undefined {
    return undefined;
  }

  start<Kind extends MethodKind, Sent, Received, Returned, Result>(
    method: MethodDescriptor<Kind, Sent, Received, Returned, Result>,
    input: CallInputs<Sent>[Kind],
    options?: CallOptions,
  ): CallAnswers<Sent, Result>[Kind] {
    const { around } = method.calling;
    const answer =
      method.refuseOptions?.(method as AnyMethod, input, options) ??
      (around === undefined || options?.attempt !== undefined
        ? this.begin(method as AnyMethod, input, options)
        : around(this, method as AnyMethod, input, options));
    return answer as CallAnswers<Sent, Result>[Kind];
  }

  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): CallAnswers<Sent, Result>["unary"] {
    return this.start(method, input, options);
  }

  notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): CallAnswers<Sent, void>["notify"] {
    return this.start(method, input, options);
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): CallAnswers<Sent, Result>["server_stream"] {
    return this.start(method, input, options);
  }

  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: CallInputs<Sent>["client_stream"],
    options?: CallOptions,
  ): CallAnswers<Sent, Result>["client_stream"] {
    return this.start(method, source, options);
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): CallAnswers<Sent, Result>["duplex"] {
    return this.start(method, undefined, options);
  }
}

/** A caller with a method for each kind of call in addition to `start`: a session, a connection or a pool. */
export type TypedCaller = Omit<BaseCaller, "begin" | "resumption">;

/**
 * Creates a caller from the function `begin`, which starts calls. For transports that have no sessions, such as plain
 * HTTP.
 */
export function createCaller(begin: BeginCall): TypedCaller {
  return new FunctionCaller(begin);
}

class FunctionCaller extends BaseCaller {
  readonly begin: BeginCall;

  constructor(begin: BeginCall) {
    super();
    this.begin = begin;
  }
}
