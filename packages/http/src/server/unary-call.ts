import type { RpcError } from "@quicrpc/core";
import type { ItemFlow } from "@quicrpc/core/internal";
import { statusOf } from "../protocol/codes.js";
import { contentType } from "../protocol/content-type.js";
import { jsonBytes } from "../protocol/error-json.js";
import { REFUSED_HEADER, TRAILER_PREFIX, writeHeaders } from "../protocol/headers.js";
import { isGet } from "./exchange.js";
import { HttpCall } from "./http-call.js";
import { bodyLengthOf, type WholeBody } from "./text-body.js";

/** A call whose request and response are one message each, without envelopes. */
export class UnaryCall extends HttpCall {
  get flow(): ItemFlow {
    throw new TypeError("the method does not stream its output");
  }

  item(): void {
    throw new TypeError("the method does not stream its output");
  }

  end(): void {
    throw new TypeError("the method does not stream its output");
  }

  /** Does nothing, because metadata is sent together with the result. */
  sendMetadata(): void {}

  protected sendResult(value: unknown): void {
    const body = this.encodedBody(value);
    this.unsent.hold(bodyLengthOf(body));
    this.answer(200, contentType({ codec: this.format.name, stream: false }), body, this.metadata());
  }

  protected sendError(error: RpcError): void {
    const body = jsonBytes(this.errorJson(error));
    this.unsent.take(body.length);
    const metadata = this.sparing(
      error,
      () => this.metadata(error),
      () => undefined,
    );
    this.answer(statusOf(error.code), "application/json", body, metadata, this.wasRefused);
  }

  /**
   * Returns the header fields for response metadata and trailers. Throws `RpcError` for metadata that header fields
   * cannot contain.
   */
  private metadata(error?: RpcError): Headers | undefined {
    const heads = this.context?.answerHeads;
    if (heads === undefined && (error === undefined || error.metadata.size === 0)) return undefined;
    // `last` throws if the trailers are too large.
    heads?.last(error);
    return this.withMetadata(() => {
      const headers = this.headersOf(this.saidMetadata);
      writeHeaders(this.trailersOf(error), headers, TRAILER_PREFIX);
      return headers;
    });
  }

  private answer(
    status: number,
    type: string,
    body: WholeBody,
    metadata: Headers | undefined,
    refused: boolean = false,
  ): void {
    const { exchange } = this;
    const fields: Record<string, string> = { "content-type": type };
    if (refused) fields[REFUSED_HEADER] = "1";
    if (isGet(exchange)) {
      fields["vary"] = "accept-encoding";
      const { cacheControl } = this.request.shared;
      if (cacheControl !== undefined && metadata?.has("cache-control") !== true) fields["cache-control"] = cacheControl;
    }
    const coding = this.compresses(bodyLengthOf(body)) ? this.coding : undefined;
    if (coding === undefined) {
      exchange.respond({ status, fields, metadata }, body);
      return;
    }
    fields["content-encoding"] = coding.name;
    fields["vary"] = "accept-encoding";
    this.compressed(coding, body)
      .then(
        (compressed) => exchange.respond({ status, fields, metadata }, compressed),
        (error: unknown) => {
          this.tellHook(error);
          const { "content-encoding": _, ...plain } = fields;
          exchange.respond({ status, fields: plain, metadata }, body);
        },
      )
      .catch((thrown: unknown) => this.onUnsendable(thrown));
  }
}
