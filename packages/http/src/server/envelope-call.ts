import { Metadata, type RpcError } from "@quicrpc/core";
import type { ItemReceiver } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";
import { ENVELOPE_COMPRESSED, writeEnvelope } from "../protocol/envelope.js";
import { CODINGS } from "./http-call.js";
import { InputReader } from "./input-reader.js";
import { HttpStreamedCall } from "./streamed-call.js";

/** A call whose request and response messages are in envelopes. */
export abstract class EnvelopeCall<Ending> extends HttpStreamedCall<Ending> {
  private reader: InputReader | undefined = undefined;
  protected readonly compression: ContentCoding | undefined = this.coding;

  protected sendResult(value: unknown): void {
    const message = this.encoded(value);
    this.sendWhole(message, this.ending(undefined));
  }

  /** Sends the response of a call with one message. */
  protected sendWhole(message: Uint8Array, last: Ending): void {
    this.begin();
    this.sendMessage(message);
    this.sendEnding(last);
  }

  protected override startItems(input: ItemReceiver): void {
    const { exchange, settings, format, context, request } = this;
    const codec = format.codecOf(context?.method.input, "input");
    const coding = exchange.header(request.protocol.codingHeader);
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

  protected ending(error: RpcError | undefined): Ending {
    // `last` throws if the trailers are too large.
    this.context?.answerHeads?.last(error);
    return this.withMetadata(() => this.endOf(error, this.trailersOf(error)));
  }

  protected endingOf(error: RpcError): Ending {
    return this.sparing(
      error,
      () => this.ending(error),
      () => this.endOf(error, new Metadata()),
    );
  }

  /** Encodes the end of the response. Throws `RpcError` if a value of the trailers cannot be sent. */
  protected abstract endOf(error: RpcError | undefined, trailers: Metadata): Ending;

  protected sendMessage(message: Uint8Array): void {
    this.send(0, message);
  }

  protected send(flags: number, message: Uint8Array): void {
    const { compression } = this;
    if (compression === undefined || !this.compresses(message.length))
      this.answerFlow.write(writeEnvelope({ flags, bytes: message }));
    else {
      const compressing = this.compressed(compression, message);
      this.answerFlow.writeLater(
        compressing.then((bytes) => writeEnvelope({ flags: flags | ENVELOPE_COMPRESSED, bytes })),
        (error) => this.tellHook(error),
      );
    }
  }
}
