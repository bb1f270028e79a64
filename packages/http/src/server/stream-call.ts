import { Metadata, type RpcError } from "@quicrpc/core";
import { contentType } from "../protocol/content-type.js";
import { type EndOfStream, writeEndOfStream } from "../protocol/end-of-stream.js";
import { FLAG_END } from "../protocol/envelope.js";
import { EnvelopeCall } from "./envelope-call.js";

/** A stream of the Connect protocol, which ends with a message. */
export class StreamCall extends EnvelopeCall<Uint8Array> {
  protected fields(): Readonly<Record<string, string>> {
    const type = { "content-type": contentType({ codec: this.format.name, stream: true }) };
    const { codingHeader } = this.request.protocol;
    return this.compression === undefined ? type : { ...type, [codingHeader]: this.compression.name };
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

  private endOf(error: RpcError | undefined, trailers: Metadata): EndOfStream {
    return { error: error && this.errorJson(error), trailers, refused: this.wasRefused };
  }
}
