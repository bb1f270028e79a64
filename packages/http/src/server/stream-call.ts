import { Metadata, type RpcError } from "@quicrpc/core";
import type { ItemReceiver } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";
import { contentType } from "../protocol/content-type.js";
import { type EndOfStream, writeEndOfStream } from "../protocol/end-of-stream.js";
import { ENVELOPE_COMPRESSED, FLAG_END, writeEnvelope } from "../protocol/envelope.js";
import { CODINGS } from "./http-call.js";
import { InputReader } from "./input-reader.js";
import { HttpStreamedCall } from "./streamed-call.js";

/** A call whose messages, in both directions, are in envelopes. */
export class StreamCall extends HttpStreamedCall {
  private reader: InputReader | undefined = undefined;
  private readonly compression: ContentCoding | undefined = this.coding;

  protected sendResult(value: unknown): void {
    const message = this.encoded(value);
    const last = this.ending(undefined);
    this.begin();
    this.sendMessage(message);
    this.sendEnding(last);
  }

  protected override startItems(input: ItemReceiver): void {
    const { exchange, settings, format, context } = this;
    const codec = format.codecOf(context?.method.input);
    const coding = exchange.header("connect-content-encoding");
    const reader = new InputReader(input, { codec, coding, settings, known: CODINGS });
    this.reader = reader;
    reader.read(exchange.body).then(
      () => (this.inputEnded = true),
      (error: unknown) => {
        if (!reader.stopped) this.refuseItem(this.request.explain(error));
      },
    );
  }

  protected override stopItems(): void {
    this.reader?.stop();
  }

  protected fields(): Readonly<Record<string, string>> {
    const type = { "content-type": contentType({ codec: this.format.name, stream: true }) };
    return this.compression === undefined ? type : { ...type, "connect-content-encoding": this.compression.name };
  }

  protected sendMessage(message: Uint8Array): void {
    this.send(0, message);
  }

  protected sendEnding(bytes: Uint8Array): void {
    this.send(FLAG_END, bytes);
    this.answerFlow.finish();
  }

  protected ending(error: RpcError | undefined): Uint8Array {
    // Throws if the trailers are too large.
    this.context?.answerHeads?.last(error);
    return this.withMetadata(() => writeEndOfStream(this.endOf(error, this.trailersOf(error))));
  }

  protected endingOf(error: RpcError): Uint8Array {
    return this.sparing(
      error,
      () => this.ending(error),
      () => writeEndOfStream(this.endOf(error, new Metadata())),
    );
  }

  private send(flags: number, message: Uint8Array): void {
    const coding = this.codingFor(message.length);
    if (coding === undefined) this.answerFlow.write(writeEnvelope({ flags, bytes: message }));
    else {
      const compressing = coding.compress(message);
      this.answerFlow.writeLater(
        compressing.then((bytes) => writeEnvelope({ flags: flags | ENVELOPE_COMPRESSED, bytes })),
        (error) => this.tellHook(error),
      );
    }
  }

  private endOf(error: RpcError | undefined, trailers: Metadata): EndOfStream {
    return { error: error && this.errorJson(error), trailers, refused: this.wasRefused };
  }
}
