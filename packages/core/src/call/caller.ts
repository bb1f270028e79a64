import type { MethodDescriptor, MethodKind } from "../contract/descriptor.js";
import type { StreamSource } from "./items/send-items.js";
import type { ItemStream } from "./items/item-stream.js";
import type { CallOptions } from "./options.js";

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
