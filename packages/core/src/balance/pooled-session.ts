import { type AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { ItemStream } from "../call/items/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Session } from "../session/session.js";

/** A session of a pool: counts the calls in progress, and tells what each came to. */
export class PooledSession<S extends Session> extends BaseCaller {
  readonly session: S;
  /** Calls in progress; notifications are over at once. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver called for each call that is over: with its error, or undefined when it went well */
  constructor(session: S, onOver: (error: unknown) => void) {
    super();
    this.session = session;
    this.onOver = onOver;
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    switch (method.kind) {
      case "notify":
        return this.session.start(method, input, options);
      case "unary":
      case "client_stream":
        return this.counted(this.session.start(method, input, options));
      case "server_stream": {
        const stream = this.session.start(method, input, options);
        this.countUntilOver(stream);
        return stream;
      }
      case "duplex": {
        const streams = this.session.start(method, undefined, options);
        this.countUntilOver(streams.readable);
        return streams;
      }
    }
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

  private countUntilOver(stream: ItemStream<unknown>): void {
    this.calls++;
    stream.whenOver((error) => this.over(error));
  }

  private over(error: unknown): void {
    this.calls--;
    this.onOver(error);
  }
}
