import type { AnyMethod, MethodDescriptor, MethodKind } from "../contract/descriptor.js";
import type { CallAnswers, Caller, CallInputs } from "./caller.js";
import type { RpcError } from "../errors.js";
import type { CallOptions } from "./options.js";

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
