import { Metadata, RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import {
  cutText,
  fullName,
  type IncomingContext,
  type ItemReceiver,
  type ListLink,
  ServedCall,
} from "@quicrpc/core/internal";
import { detailsJson } from "../json/details-json.js";
import { unpadded } from "../protocol/base64.js";
import { messageTooLarge } from "../protocol/body.js";
import { acceptedCoding, type ContentCoding, gzip } from "../protocol/compression.js";
import { connectDetails } from "../protocol/connect-details.js";
import { type ErrorDetail, type ErrorJson, errorToJson } from "../protocol/error-json.js";
import { writeHeaders } from "../protocol/headers.js";
import { encodeMessage } from "../protocol/message.js";
import { packedDetail } from "../protocol/packed-detail.js";
import { structDetail } from "../protocol/struct-detail.js";
import { zstd } from "../protocol/zstd.js";
import { inCodingTurn } from "./coding-turns.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpServerRequest } from "./http-request.js";
import type { MessageFormat } from "./message-formats.js";
import type { RequestBytes } from "./request-bytes.js";
import { bodyLengthOf, bodyOf, bytesOfBody, type WholeBody } from "./text-body.js";

/** Compressions that the server supports. Each client names the one that it prefers. */
export const CODINGS: readonly ContentCoding[] = zstd === undefined ? [gzip] : [gzip, zstd];

const NOTHING = new Uint8Array(0);
const EMPTY_JSON = new TextEncoder().encode("{}");

/** A call that has arrived as an HTTP request. */
export abstract class HttpCall extends ServedCall {
  protected readonly exchange: HttpExchange;
  protected readonly request: HttpServerRequest;
  /** True if no handler has seen the call, so that it is safe to repeat it. */
  protected wasRefused = false;
  private place: ListLink<HttpCall> | undefined = undefined;
  /** The error that occurred when the handler's metadata was written; undefined if none. */
  private unsendable: Error | undefined = undefined;
  private isUnsendableTold = false;

  constructor(request: HttpServerRequest, context: IncomingContext<unknown> | undefined, bytes: number) {
    super(context, request, bytes);
    this.exchange = request.exchange;
    this.request = request;
  }

  protected get unsent(): RequestBytes {
    return this.request.unsent;
  }

  protected get format(): MessageFormat {
    return this.request.format;
  }

  private get method(): AnyMethod {
    return this.request.bound.method;
  }

  /** Ends the call with an error, before any handler has seen it. */
  refuse(error: RpcError): void {
    this.wasRefused = error.refused;
    this.finishWith(error);
  }

  /** Sends the empty response that confirms a notification. */
  accept(): void {
    this.returned(undefined);
  }

  /** Ends the call because the server is shutting down. */
  abort(reason: RpcError): void {
    this.giveUp(reason, false);
  }

  /** Ends the call to free memory. If the client has not read response data, also ends its request. */
  evict(reason: RpcError): void {
    const isUnread = this.unsent.some;
    this.giveUp(reason, false);
    if (isUnread) this.exchange.cutOff(reason);
  }

  protected override onUnsendable(thrown: unknown): void {
    super.onUnsendable(thrown);
    this.exchange.cutOff(new RpcError("internal", "the answer could not be sent"));
  }

  protected onEntered(): void {
    this.place = this.request.shared.calls.add(this);
    this.exchange.onGone = () => this.onCancel("cancelled", true);
  }

  protected onLeft(): void {
    if (this.place !== undefined) this.request.shared.calls.remove(this.place);
    this.exchange.onGone = undefined;
  }

  protected startItems(_input: ItemReceiver): void {
    throw new TypeError("the method does not stream its input");
  }

  protected stopItems(): void {}

  protected compresses(bytes: number): boolean {
    const { compress = bytes >= this.request.shared.compressFrom } = this.context ?? {};
    return compress && bytes > 0;
  }

  /** The compression that both client and server support; undefined if there is none. */
  protected get coding(): ContentCoding | undefined {
    return acceptedCoding(this.request.protocol.accepts(this.request), CODINGS);
  }

  /** Compresses a part of the response when the client has its turn. If the client has gone by then, does nothing. */
  protected compressed(coding: ContentCoding, body: WholeBody): Promise<Uint8Array> {
    const { exchange, settings } = this;
    return inCodingTurn(settings.client, async () => {
      return exchange.isGone ? NOTHING : await coding.compress(bytesOfBody(body));
    });
  }

  private outputCodec(): MessageCodec<unknown> | undefined {
    return this.format.codecOf(this.method.output, "output");
  }

  protected get saidMetadata(): Metadata {
    return this.context?.answerHeads?.metadata ?? new Metadata();
  }

  protected headersOf(metadata: Metadata): Headers {
    const headers = new Headers();
    writeHeaders(metadata, headers);
    return headers;
  }

  /**
   * Calls `make`, which writes the handler's metadata, and returns its result. If HTTP cannot represent the metadata,
   * throws an `Error`, because that is a fault of the handler and not of the caller. A repeated call throws the same
   * error.
   */
  protected withMetadata<Made>(make: () => Made): Made {
    if (this.unsendable !== undefined) throw this.unsendable;
    try {
      return make();
    } catch (error) {
      const { message } = RpcError.from(error);
      this.unsendable = new Error(`the response metadata cannot be sent over HTTP: ${message}`, { cause: error });
      throw this.unsendable;
    }
  }

  /** Reports an error to the error hook. The error about metadata is reported only once. */
  protected override tellHook(error: unknown): void {
    const isUnsendable = error !== undefined && error === this.unsendable;
    if (isUnsendable && this.isUnsendableTold) return;
    this.isUnsendableTold ||= isUnsendable;
    super.tellHook(error);
  }

  /**
   * Returns the result of `make`. If that throws because the metadata cannot be sent, reports the exception and returns
   * the result of `without`, so that the caller still receives `error`.
   */
  protected sparing<Made>(error: RpcError, make: () => Made, without: () => Made): Made {
    try {
      return make();
    } catch (unsendable) {
      if (unsendable !== error) this.tellHook(unsendable);
      return without();
    }
  }

  protected encoded(value: unknown): Uint8Array {
    try {
      return this.encode(value);
    } catch (error) {
      throw this.misfit(error);
    }
  }

  private encode(value: unknown): Uint8Array {
    const codec = this.outputCodec();
    // JSON clients expect an object even if the method has no output.
    if (codec === undefined && this.format.name === "json") return EMPTY_JSON;
    return encodeMessage(codec, value, this.settings.limits.maxFrameBytes);
  }

  protected encodedBody(value: unknown): WholeBody {
    try {
      const { output } = this.method;
      const text = output && this.format.textOf?.(output, value);
      if (text === undefined) return this.encode(value);
      const body = bodyOf(text);
      const { maxFrameBytes } = this.settings.limits;
      if (bodyLengthOf(body) > maxFrameBytes) throw messageTooLarge(maxFrameBytes);
      return body;
    } catch (error) {
      throw this.misfit(error);
    }
  }

  protected override methodName(): string {
    return fullName(this.method);
  }

  protected trailersOf(error?: RpcError): Metadata {
    const trailers = this.context?.answerHeads?.trailers ?? new Metadata();
    return error === undefined || error.metadata.size === 0 ? trailers : new Metadata([...trailers, ...error.metadata]);
  }

  protected errorJson(error: RpcError): ErrorJson {
    const onMisfit = (misfit: Error): void => this.tellHook(misfit);
    const details = [
      ...connectDetails(error).map(({ value, ...detail }) => ({ ...detail, value: unpadded(value) })),
      ...(this.format.name === "msgpack"
        ? [structDetail(error, this.method, detailsJson), packedDetail(error, this.method, onMisfit)]
        : [structDetail(error, this.method, detailsJson, onMisfit)]),
    ];
    const { maxErrorMessageBytes } = this.settings.limits;
    const message = cutText(error.message, maxErrorMessageBytes);
    const cut = message === error.message ? error : new RpcError(error.code, message);
    return errorToJson(
      cut,
      details.filter((detail): detail is ErrorDetail => detail !== undefined),
    );
  }
}
