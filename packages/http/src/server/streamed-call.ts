import type { RpcError } from "@quicrpc/core";
import type { ItemFlow } from "@quicrpc/core/internal";
import { AnswerFlow } from "./answer-flow.js";
import type { AnswerBody, AnswerHead } from "./exchange.js";
import { HttpCall } from "./http-call.js";

/**
 * A call whose response is sent in pieces. Subclasses encode its messages and its end.
 *
 * @typeParam Ending type of the encoded end of the response: bytes, or trailers
 */
export abstract class HttpStreamedCall<Ending = Uint8Array> extends HttpCall {
  protected readonly answerFlow: AnswerFlow = new AnswerFlow(this.unsent);
  private body: AnswerBody | undefined = undefined;
  /** True if trailers follow the response's body. */
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
      () => this.beginWith(this.headWith(undefined)),
    );
    this.sendEnding(this.endingOf(error));
  }

  protected override onLeft(): void {
    this.answerFlow.end();
    super.onLeft();
  }

  protected abstract fields(): Readonly<Record<string, string>>;

  protected abstract sendMessage(message: Uint8Array): void;

  /** Encodes the end of the response. Throws `RpcError` if a value of the trailers cannot be sent. */
  protected abstract ending(error: RpcError | undefined): Ending;

  /** Encodes the end of a failed call's response, without trailers that cannot be sent. */
  protected abstract endingOf(error: RpcError): Ending;

  /** Sends the encoded end of the response, and ends the body. */
  protected abstract sendEnding(ending: Ending): void;

  /** True if the response's head was sent. */
  protected get hasBegun(): boolean {
    return this.body !== undefined;
  }

  /**
   * Sends the response's head, unless it has been sent. Throws `RpcError` for metadata that header fields cannot
   * contain.
   */
  protected begin(): void {
    if (this.body !== undefined) return;
    this.beginWith(this.head());
  }

  /** Returns the response's head. Throws `RpcError` for metadata that header fields cannot contain. */
  protected head(): AnswerHead {
    const heads = this.context?.answerHeads;
    // `first` throws if the metadata is too large.
    heads?.first();
    return this.headWith(heads && this.withMetadata(() => this.headersOf(heads.metadata)));
  }

  private headWith(metadata: Headers | undefined): AnswerHead {
    return { status: 200, fields: this.fields(), metadata, trailers: this.trailers };
  }

  private beginWith(head: AnswerHead): void {
    this.body = this.exchange.open(head);
    this.answerFlow.start(this.body);
  }
}
