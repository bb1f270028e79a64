import type { CallOptions } from "./options.js";
import type { StreamSource } from "./item-source.js";
import type { ItemStream } from "./item-stream.js";
import type { MethodDescriptor } from "../contract/descriptor.js";

/** Makes calls; generated clients are a thin face over it, and without generated code it is the whole client. */
export interface Caller {
  /** Resolves with the answer, rejects with an `RpcError`. */
  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result>;
  /** Resolves when the notification has been handed to the transport; whether it arrives is not known. */
  notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void>;
  /** The call starts at once; its failure is thrown by the stream. */
  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result>;
  /** Streams `source`, as fast as the callee takes it. Resolves with the answer, which may come before its end. */
  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result>;
  /** The call starts at once. Closing `writable` ends the items sent; leaving `readable` cancels the call. */
  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result>;
}

/** The two directions of a duplex call. */
export interface DuplexStream<Sent, Result> {
  readonly readable: ItemStream<Result>;
  readonly writable: WritableStream<Sent>;
}
