import type { Metadata, RpcError } from "@quicrpc/core";
import { contentType } from "../protocol/content-type.js";
import { writeEndOfStream } from "../protocol/end-of-stream.js";
import { FLAG_END } from "../protocol/envelope.js";
import { EnvelopeCall } from "./envelope-call.js";

/** A streaming call of the Connect protocol, whose response ends with an end-of-stream message. */
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

  protected endOf(error: RpcError | undefined, trailers: Metadata): Uint8Array {
    return writeEndOfStream({ error: error && this.errorJson(error), trailers, refused: this.wasRefused });
  }
}
