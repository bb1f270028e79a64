import { Metadata, RpcError } from "@quicrpc/core";
import type { ItemFlow, ItemReceiver } from "@quicrpc/core/transport";
import type { ContentCoding } from "../protocol/compression.js";
import { contentType } from "../protocol/content-type.js";
import { type EndOfStream, writeEndOfStream } from "../protocol/end-of-stream.js";
import { FLAG_COMPRESSED, FLAG_END, writeEnvelope } from "../protocol/envelope.js";
import { writeHeaders } from "../protocol/headers.js";
import { encodeMessage } from "../protocol/message.js";
import { AnswerFlow } from "./answer-flow.js";
import type { AnswerBody } from "./exchange.js";
import { CODINGS, HttpCall } from "./http-call.js";
import { InputReader } from "./input-reader.js";

/** A call whose messages, in both directions, are in envelopes. */
export class StreamCall extends HttpCall {
  private readonly answerFlow: AnswerFlow = new AnswerFlow();
  private body: AnswerBody | undefined = undefined;
  private reader: InputReader | undefined = undefined;
  private readonly compression: ContentCoding | undefined = this.coding;

  get flow(): ItemFlow {
    return this.answerFlow;
  }

  sendMetadata(): void {
    if (!this.over) this.begin();
  }

  item(item: unknown): void {
    if (this.over) return;
    let message: Uint8Array;
    try {
      message = this.encoded(item);
    } catch (error) {
      throw this.misfit(error);
    }
    this.begin();
    this.send(0, message);
  }

  end(): void {
    if (this.over) return;
    let last: Uint8Array;
    try {
      this.begin();
      last = this.lastMessage(undefined);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.sendLast(last);
    this.finish();
  }

  protected sendResult(value: unknown): void {
    const message = this.encoded(value);
    const last = this.lastMessage(undefined);
    this.begin();
    this.send(0, message);
    this.sendLast(last);
  }

  protected sendError(error: RpcError): void {
    try {
      this.begin();
    } catch (unsendable) {
      this.tellHook(unsendable);
      this.beginWith(undefined);
    }
    this.sendLast(this.lastOfError(error));
  }

  protected override startItems(input: ItemReceiver): void {
    const { exchange, settings, format, context } = this;
    const codec = format.codecOf(context?.method.input);
    const coding = exchange.header("connect-content-encoding");
    this.reader = new InputReader(exchange.body, input, { codec, coding, settings, known: CODINGS });
    this.reader.read().then(
      () => (this.inputEnded = true),
      (error: unknown) => this.giveUp(RpcError.from(error, "invalid_argument"), false),
    );
  }

  protected override stopItems(): void {
    this.reader?.stop();
  }

  protected override onLeft(): void {
    this.answerFlow.end();
    super.onLeft();
  }

  private encoded(value: unknown): Uint8Array {
    const codec = this.outputCodec();
    if (codec === undefined && this.format.name === "json") return EMPTY_JSON;
    return encodeMessage(codec, value, this.settings.limits.maxFrameBytes);
  }

  /** Sends the head, unless it has been sent. Throws `RpcError` for metadata that headers cannot carry. */
  private begin(): void {
    if (this.body !== undefined) return;
    const heads = this.context?.answerHeads;
    if (heads === undefined) {
      this.beginWith(undefined);
      return;
    }
    // Throws where it is too large.
    heads.first();
    const headers = new Headers();
    writeHeaders(heads.metadata, headers);
    this.beginWith(headers);
  }

  private beginWith(metadata: Headers | undefined): void {
    const fields: Record<string, string> = { "content-type": contentType({ codec: this.format.name, stream: true }) };
    if (this.compression !== undefined) fields["connect-content-encoding"] = this.compression.name;
    this.body = this.exchange.open({ status: 200, fields, metadata });
    this.answerFlow.start(this.body);
  }

  private send(flags: number, message: Uint8Array): void {
    const coding = this.codingFor(message.length);
    if (coding === undefined) this.answerFlow.write(writeEnvelope({ flags, bytes: message }));
    else {
      const compressing = coding.compress(message);
      this.answerFlow.writeLater(
        compressing.then((bytes) => writeEnvelope({ flags: flags | FLAG_COMPRESSED, bytes })),
        (error) => this.tellHook(error),
      );
    }
  }

  private sendLast(message: Uint8Array): void {
    this.send(FLAG_END, message);
    this.answerFlow.finish();
  }

  private lastMessage(error: RpcError | undefined): Uint8Array {
    // Throws where it is too large.
    this.context?.answerHeads?.last(error);
    return writeEndOfStream(this.endOf(error, this.trailersOf(error)));
  }

  /** Trailers that cannot be sent must not cost the caller the error. */
  private lastOfError(error: RpcError): Uint8Array {
    try {
      return this.lastMessage(error);
    } catch (unsendable) {
      if (unsendable !== error) this.tellHook(unsendable);
      return writeEndOfStream(this.endOf(error, new Metadata()));
    }
  }

  private endOf(error: RpcError | undefined, trailers: Metadata): EndOfStream {
    return { error: error && this.errorJson(error), trailers, refused: error?.refused === true };
  }
}

const EMPTY_JSON = new TextEncoder().encode("{}");
