import type { AnyMethod, MethodDescriptor, MethodKind } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { CallOptions } from "./options.js";
import type { StreamSource } from "./items/send-items.js";
import type { ItemStream } from "./items/item-stream.js";

/** The two directions of a duplex call. */
export interface DuplexStream<Sent, Result> {
  /** The messages of the peer. Cancelling it cancels the call. */
  readonly readable: ItemStream<Result>;
  /** Accepts messages for the peer. A write waits while the peer reads more slowly. Closing it ends only this direction. */
  readonly writable: WritableStream<Sent>;
}

/** The input that a call takes, by the kind of its method. */
export interface CallInputs<Sent> {
  readonly unary: Sent;
  readonly notify: Sent;
  readonly server_stream: Sent;
  /** The call streams its source as fast as the callee takes it. */
  readonly client_stream: StreamSource<Sent>;
  /** The messages are written to the answer's `writable`. */
  readonly duplex: undefined;
}

/** Values that a call returns at once, by the kind of its method. A failure is never thrown: the promise rejects, or the stream fails. */
export interface CallAnswers<Sent, Result> {
  /** Resolves with the answer. */
  readonly unary: Promise<Result>;
  /** Resolves when the notification has been handed to the transport; whether it arrives is not known. */
  readonly notify: Promise<void>;
  readonly server_stream: ItemStream<Result>;
  /** Resolves with the answer, which may come before the end of the source. */
  readonly client_stream: Promise<Result>;
  /** Closing `writable` ends the items sent; leaving `readable` cancels the call. */
  readonly duplex: DuplexStream<Sent, Result>;
}

/**
 * Makes calls. Generated clients need nothing else, so any carrier of calls can be one: a session, a connection, a
 * pool, a server in the same process.
 */
export interface Caller {
  /** Starts a call of any kind, at once. Failures are reported through the returned value, as `RpcError`. */
  start<Kind extends MethodKind, Sent, Received, Returned, Result>(
    method: MethodDescriptor<Kind, Sent, Received, Returned, Result>,
    input: CallInputs<Sent>[Kind],
    options?: CallOptions,
  ): CallAnswers<Sent, Result>[Kind];
}

/**
 * Starts a call of any kind, without the types of its messages. Returns, at once, the member of `CallAnswers` that
 * belongs to the method's kind; it also carries each failure.
 */
export type BeginCall = (method: AnyMethod, input: unknown, options: CallOptions | undefined) => AnyAnswer;

/** Registry of the streams that have lost their session and wait to be resumed. */
export interface Resumption {
  /** Set if all sessions of the caller lead to one process, so that it can make the attempts of resumable calls; otherwise undefined. */
  readonly owner?: BaseCaller | undefined;
  /** The peer's name in errors. */
  readonly peer?: string | undefined;
  /** Milliseconds for which a stream that lost its session tries to resume, unless its call sets `resumeForMs`. */
  readonly forMs: number;
  /** Adds a waiting stream; `fail` ends it if no more calls will be made. Returns a function that removes it. */
  suspend(fail: (error: RpcError) => void): () => void;
}

/** The answer of a call whose method may be of any kind. */
// oxlint-disable-next-line typescript/no-explicit-any -- the messages are of any types
export type AnyAnswer = CallAnswers<any, any>[MethodKind];

/** Gives `begin` the types of messages, for each kind of call. It is the only place that does. */
export abstract class BaseCaller implements Caller {
  abstract begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer;

  /** Registry of the streams that wait to be resumed; undefined if a lost call cannot be made again. */
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

/** Creates a caller whose calls are started by `begin`, for carriers of calls that are not sessions. */
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
