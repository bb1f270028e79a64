import { Metadata, type RpcError } from "@quicrpc/core";
import { CODINGS, EnvelopeCall, writeEnvelope } from "@quicrpc/http/internal";
import { type Field, FLAG_TRAILERS, statusOf, SUCCESS } from "./status.js";

/** Compressions that requests may use, as a list for the field `grpc-accept-encoding`. */
const ACCEPTED = ["identity", ...CODINGS.map(({ name }) => name)].join(",");

export function headFields(contentType: string | undefined): Record<string, string> {
  return { "content-type": contentType ?? "application/grpc", "grpc-accept-encoding": ACCEPTED };
}

export function withoutOwn(metadata: Metadata): Metadata {
  return new Metadata([...metadata].filter(([name]) => !name.startsWith("grpc-")));
}

/** A call of a gRPC client, whose response ends with trailers. */
export class GrpcCall extends EnvelopeCall<readonly Field[]> {
  protected override readonly trailers: boolean = true;

  protected fields(): Readonly<Record<string, string>> {
    const fields = headFields(this.exchange.header("content-type"));
    if (this.compression !== undefined) fields["grpc-encoding"] = this.compression.name;
    return fields;
  }

  protected override headersOf(metadata: Metadata): Headers {
    return super.headersOf(metadata.size === 0 ? metadata : withoutOwn(metadata));
  }

  protected endOf(error: RpcError | undefined, metadata: Metadata): readonly Field[] {
    const status = error === undefined ? SUCCESS : this.failureOf(error);
    return metadata.size === 0 ? status : [...this.headersOf(metadata), ...status];
  }

  private failureOf(error: RpcError): readonly Field[] {
    const { message, details } = this.errorJson(error);
    return statusOf(error, message ?? "", details);
  }

  protected override sendWhole(message: Uint8Array, trailers: readonly Field[]): void {
    const { exchange, compression, hasBegun } = this;
    const isCompressed = compression !== undefined && this.compresses(message.length);
    if (!this.trailers || hasBegun || isCompressed || exchange.respondWhole === undefined) {
      super.sendWhole(message, trailers);
      return;
    }
    const body = writeEnvelope({ flags: 0, bytes: message });
    this.unsent.hold(body.length);
    exchange.respondWhole(this.head(), body, trailers);
  }

  protected sendEnding(trailers: readonly Field[]): void {
    this.answerFlow.finish(trailers);
  }

  /**
   * Sends an error as a response without a body (trailers-only in gRPC), which lets clients retry the call. If the head
   * was sent or there is metadata, sends the error in trailers.
   */
  protected override sendError(error: RpcError): void {
    // Clients treat all metadata in the head of a trailers-only response as trailers.
    if (this.hasBegun || this.saidMetadata.size > 0) super.sendError(error);
    else this.exchange.respond({ status: 200, fields: this.fields(), metadata: this.endingOf(error) });
  }
}

/** A call of a gRPC-Web client. The trailers are at the end of the response's body. */
export class GrpcWebCall extends GrpcCall {
  protected override readonly trailers: boolean = false;

  protected override sendEnding(trailers: readonly Field[]): void {
    const lines = trailers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    this.answerFlow.write(writeEnvelope({ flags: FLAG_TRAILERS, bytes: new TextEncoder().encode(lines) }));
    this.answerFlow.finish();
  }
}
