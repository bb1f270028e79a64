import type { RpcError } from "@quicrpc/core";
import type { ItemFlow } from "@quicrpc/core/internal";
import { AnswerFlow } from "./answer-flow.js";
import type { AnswerBody } from "./exchange.js";
import { HttpCall } from "./http-call.js";

/**
 * A call with a response in pieces. Subclasses frame its messages and its end.
 *
 * @typeParam Ending what follows the last message: bytes, or trailers
 */
export abstract class HttpStreamedCall<Ending = Uint8Array> extends HttpCall {
  protected readonly answerFlow: AnswerFlow = new AnswerFlow(this.unsent);
  private body: AnswerBody | undefined = undefined;
  /** Whether trailers follow the body. */
  protected readonly trailers: boolean = false;

  get flow(): ItemFlow {
    return this.answerFlow;
  }

  sendMetadata(): void {
    if (!this.over) this.begin();
  }

  item(item: unknown): void {
    if (this.over) return;
    const message = this.encoded(item);
    this.begin();
    this.sendMessage(message);
    if (this.answerFlow.isCrowded) throw this.settings.budget.refusal("what its client has not read of an answer");
  }

  end(): void {
    if (this.over) return;
    let last: Ending;
    try {
      this.begin();
      last = this.ending(undefined);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.sendEnding(last);
    this.finish();
  }

  protected sendError(error: RpcError): void {
    this.sparing(
      error,
      () => this.begin(),
      () => this.beginWith(undefined),
    );
    this.sendEnding(this.endingOf(error));
  }

  protected override onLeft(): void {
    this.answerFlow.end();
    super.onLeft();
  }

  /** Returns the header fields of the response. */
  protected abstract fields(): Readonly<Record<string, string>>;

  protected abstract sendMessage(message: Uint8Array): void;

  /** Returns what follows the last message. Throws `RpcError` for trailers that cannot be sent. */
  protected abstract ending(error: RpcError | undefined): Ending;

  /** Returns what follows the last message of a failed call, without trailers that cannot be sent. */
  protected abstract endingOf(error: RpcError): Ending;

  /** Sends the result of `ending`, and ends the body. */
  protected abstract sendEnding(ending: Ending): void;

  /** Whether the head was sent. */
  protected get hasBegun(): boolean {
    return this.body !== undefined;
  }

  /** Sends the head, unless it has been sent. Throws `RpcError` for metadata that headers cannot carry. */
  protected begin(): void {
    if (this.body !== undefined) return;
    const heads = this.context?.answerHeads;
    // Throws if the metadata is too large.
    heads?.first();
    this.beginWith(heads && this.withMetadata(() => this.headersOf(heads.metadata)));
  }

  private beginWith(metadata: Headers | undefined): void {
    this.body = this.exchange.open({ status: 200, fields: this.fields(), metadata, trailers: this.trailers });
    this.answerFlow.start(this.body);
  }
}
