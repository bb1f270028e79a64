import { Metadata, RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import {
  cutText,
  fullName,
  type IncomingContext,
  type ItemReceiver,
  type Link,
  type LinkedSet,
  ServedCall,
  type ServedCallSettings,
} from "@quicrpc/core/transport";
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
import type { HttpExchange } from "./exchange.js";
import type { RequestBytes } from "./request-bytes.js";
import type { MessageFormat } from "./message-formats.js";
import { bodyOf, bodyLengthOf, type WholeBody } from "./text-body.js";

/** Supported compressions; a client names its preferred one. */
export const CODINGS: readonly ContentCoding[] = zstd === undefined ? [gzip] : [gzip, zstd];

const EMPTY_JSON = new TextEncoder().encode("{}");

/** Settings shared by the calls of one handler. */
export interface HttpCallSettings {
  /** Minimum bytes of messages that are compressed for a client that supports it. */
  readonly compressFrom: number;
  /** Which caches may store responses to GET, unless the handler decides; undefined: caches decide. */
  readonly cacheControl: "private" | undefined;
  /** Calls in progress. */
  readonly calls: LinkedSet<HttpCall>;
}

/** A request, as far as it was understood. */
export class HttpRoute {
  readonly exchange: HttpExchange;
  /** Undefined if the request does not name a served method. */
  readonly method: AnyMethod | undefined;
  readonly format: MessageFormat;
  /** Names of the compressions that the client supports. */
  readonly accepts: string | undefined;
  /** Charged for unread data of the response until the request ends. */
  readonly unsent: RequestBytes;

  constructor(
    exchange: HttpExchange,
    method: AnyMethod | undefined,
    format: MessageFormat,
    accepts: string | undefined,
    unsent: RequestBytes,
  ) {
    this.exchange = exchange;
    this.method = method;
    this.format = format;
    this.accepts = accepts;
    this.unsent = unsent;
  }
}

/** A call that arrived as an HTTP request. */
export abstract class HttpCall extends ServedCall {
  protected readonly exchange: HttpExchange;
  protected readonly format: MessageFormat;
  protected readonly shared: HttpCallSettings;
  protected readonly unsent: RequestBytes;
  /** Whether no handler was entered, so that the call may be repeated. */
  protected wasRefused = false;
  /** Entry among the calls in progress. */
  private place: Link<HttpCall> | undefined = undefined;
  private readonly accepts: string | undefined;
  private readonly method: AnyMethod | undefined;
  /** Reason why the handler's metadata cannot be sent. */
  private unsendable: Error | undefined = undefined;
  private isUnsendableTold = false;

  constructor(
    { exchange, format, accepts, method, unsent }: HttpRoute,
    context: IncomingContext<unknown> | undefined,
    settings: ServedCallSettings,
    bytes: number,
    shared: HttpCallSettings,
  ) {
    super(context, settings, bytes);
    this.exchange = exchange;
    this.unsent = unsent;
    this.format = format;
    this.accepts = accepts;
    this.method = method;
    this.shared = shared;
  }

  /** Ends a call whose handler was not entered. */
  refuse(error: unknown): void {
    const failure = this.readingFailure(error);
    this.wasRefused = failure.refused;
    this.finishWith(failure);
  }

  /** Confirms a notification to its sender. */
  accept(): void {
    this.returned(undefined);
  }

  /** Ends a call for a reason of the server. */
  abort(reason: RpcError): void {
    this.giveUp(reason, false);
  }

  /** Ends a call to free memory, and its connection if its client does not read the response. */
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
    this.place = this.shared.calls.add(this);
    this.exchange.onGone = () => this.onCancel("cancelled", true);
  }

  protected onLeft(): void {
    if (this.place !== undefined) this.shared.calls.remove(this.place);
    this.exchange.onGone = undefined;
  }

  protected startItems(_input: ItemReceiver): void {
    throw new TypeError("the method does not stream its input");
  }

  protected stopItems(): void {}

  /** Returns the coding of a message of this many bytes; undefined if it is sent uncompressed. */
  protected codingFor(bytes: number): ContentCoding | undefined {
    const { compress = bytes >= this.shared.compressFrom } = this.context ?? {};
    return compress && bytes > 0 ? this.coding : undefined;
  }

  /** The compression that both sides support, if any. */
  protected get coding(): ContentCoding | undefined {
    return acceptedCoding(this.accepts, CODINGS);
  }

  private outputCodec(): MessageCodec<unknown> | undefined {
    return this.format.codecOf(this.method?.output);
  }

  /** Response metadata set by the handler. */
  protected get saidMetadata(): Metadata {
    return this.context?.answerHeads?.metadata ?? new Metadata();
  }

  protected headersOf(metadata: Metadata): Headers {
    const headers = new Headers();
    writeHeaders(metadata, headers);
    return headers;
  }

  /**
   * Returns the result of `make`, which writes the handler's metadata. Metadata that HTTP cannot carry is a fault of
   * the handler, not of the caller: throws an `Error`, the same one when the metadata is written again.
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

  /** Reports an error to the hook; an error of the metadata only once. */
  protected override tellHook(error: unknown): void {
    const isUnsendable = error !== undefined && error === this.unsendable;
    if (isUnsendable && this.isUnsendableTold) return;
    this.isUnsendableTold ||= isUnsendable;
    super.tellHook(error);
  }

  /**
   * Returns the result of `make`. If the metadata cannot be sent, that is reported, and the result of `without`
   * returned, so that the caller still receives the error.
   */
  protected sparing<Made>(error: RpcError, make: () => Made, without: () => Made): Made {
    try {
      return make();
    } catch (unsendable) {
      if (unsendable !== error) this.tellHook(unsendable);
      return without();
    }
  }

  /**
   * Returns the error of a request that could not be read. Only an `RpcError` is sent to the caller; any other
   * exception is reported.
   */
  protected readingFailure(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    this.tellHook(error);
    return new RpcError("invalid_argument", "the request could not be read");
  }

  /** Encodes a whole response, or one item. Throws for an invalid value. */
  protected encoded(value: unknown): Uint8Array {
    try {
      return this.encode(value);
    } catch (error) {
      throw this.misfit(error);
    }
  }

  private encode(value: unknown): Uint8Array {
    const codec = this.outputCodec();
    // Clients expect a message even if the method returns nothing.
    if (codec === undefined && this.format.name === "json") return EMPTY_JSON;
    return encodeMessage(codec, value, this.settings.limits.maxFrameBytes);
  }

  /** Encodes a whole response as a body. Throws for an invalid value. */
  protected encodedBody(value: unknown): WholeBody {
    try {
      const output = this.method?.output;
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
    return this.method === undefined ? super.methodName() : fullName(this.method);
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
