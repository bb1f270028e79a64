import type { Caller, DuplexStream } from "../call/caller.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { MethodDescriptor } from "../contract/descriptor.js";
import type { Session } from "../session/session.js";

/** A session of a pool: counts the calls in progress, and tells what each came to. */
export class PooledSession<S extends Session> implements Caller {
  readonly session: S;
  /** Calls in progress; notifications are over at once. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver told of each call that is over: its error, or undefined when it went well */
  constructor(session: S, onOver: (error: unknown) => void) {
    this.session = session;
    this.onOver = onOver;
  }

  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result> {
    return this.counted(this.session.unary(method, input, options));
  }

  notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void> {
    return this.session.notify(method, input, options);
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result> {
    const stream = this.session.serverStream(method, input, options);
    this.countUntilOver(stream);
    return stream;
  }

  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result> {
    return this.counted(this.session.clientStream(method, source, options));
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result> {
    const streams = this.session.duplex(method, options);
    this.countUntilOver(streams.readable);
    return streams;
  }

  private counted<Result>(answer: Promise<Result>): Promise<Result> {
    this.calls++;
    return answer.then(
      (result) => {
        this.over(undefined);
        return result;
      },
      (error: unknown) => {
        this.over(error);
        throw error;
      },
    );
  }

  private countUntilOver<Item>(stream: ItemStream<Item>): void {
    this.calls++;
    stream.whenOver((error) => this.over(error));
  }

  private over(error: unknown): void {
    this.calls--;
    this.onOver(error);
  }
}
