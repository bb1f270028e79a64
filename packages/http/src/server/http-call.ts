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
import { tooLarge } from "../protocol/body.js";
import { acceptedCoding, type ContentCoding, gzip } from "../protocol/compression.js";
import { connectDetails } from "../protocol/connect-details.js";
import { type ErrorDetail, type ErrorJson, errorToJson } from "../protocol/error-json.js";
import { writeHeaders } from "../protocol/headers.js";
import { encodeMessage } from "../protocol/message.js";
import { packedDetail } from "../protocol/packed-detail.js";
import { structDetail } from "../protocol/struct-detail.js";
import { zstd } from "../protocol/zstd.js";
import type { HttpExchange } from "./exchange.js";
import type { HeldBytes } from "./held-bytes.js";
import type { MessageFormat } from "./message-formats.js";
import { bodyOf, lengthOf, type WholeBody } from "./text-body.js";

/** Compressions that this side knows; of them a client names the one it likes best. */
export const CODINGS: readonly ContentCoding[] = zstd === undefined ? [gzip] : [gzip, zstd];

const EMPTY_JSON = new TextEncoder().encode("{}");

/** Settings that the calls of one handler share. */
export interface HttpCallSettings {
  /** Bytes from which on messages are compressed for a client that can read that. */
  readonly compressFrom: number;
  /** Which caches may keep answers to GET, where their handlers do not say; undefined: as caches judge. */
  readonly cacheControl: "private" | undefined;
  /** Calls in progress. */
  readonly calls: LinkedSet<HttpCall>;
}

/** A request, as far as it was understood. */
export class HttpRoute {
  readonly exchange: HttpExchange;
  /** Undefined where the request names none that is served. */
  readonly method: AnyMethod | undefined;
  readonly format: MessageFormat;
  /** The names of the compressions that the client reads. */
  readonly accepts: string | undefined;
  /** Holds what the client has not read of the answer, until the request is over. */
  readonly unsent: HeldBytes;

  constructor(
    exchange: HttpExchange,
    method: AnyMethod | undefined,
    format: MessageFormat,
    accepts: string | undefined,
    unsent: HeldBytes,
  ) {
    this.exchange = exchange;
    this.method = method;
    this.format = format;
    this.accepts = accepts;
    this.unsent = unsent;
  }
}

/** A call that came as an HTTP request. */
export abstract class HttpCall extends ServedCall {
  protected readonly exchange: HttpExchange;
  protected readonly format: MessageFormat;
  protected readonly shared: HttpCallSettings;
  protected readonly unsent: HeldBytes;
  /** No handler was entered, and the call may be made again. */
  protected wasRefused = false;
  /** Among the calls in progress. */
  private place: Link<HttpCall> | undefined = undefined;
  private readonly accepts: string | undefined;
  private readonly method: AnyMethod | undefined;
  /** Says why the metadata that the handler set cannot be sent. */
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

  /** Ends a call that no handler was entered for. */
  refuse(error: unknown): void {
    const failure = this.readingFailure(error);
    this.wasRefused = failure.refused;
    this.finishWith(failure);
  }

  /** Tells the sender of a notification that it was taken. */
  accept(): void {
    this.returned(undefined);
  }

  /** Ends a call for a reason of this side's. */
  abort(reason: RpcError): void {
    this.giveUp(reason, false);
  }

  /** Ends a call for what it holds, and its connection where its client does not read the answer. */
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

  /** The coding of a message of so many bytes; undefined where it goes as it is. */
  protected codingFor(bytes: number): ContentCoding | undefined {
    const { compress = bytes >= this.shared.compressFrom } = this.context ?? {};
    return compress && bytes > 0 ? this.coding : undefined;
  }

  /** The compression that the client reads, if this side knows one. */
  protected get coding(): ContentCoding | undefined {
    return acceptedCoding(this.accepts, CODINGS);
  }

  private outputCodec(): MessageCodec<unknown> | undefined {
    return this.format.codecOf(this.method?.output);
  }

  /** Response metadata that the handler has set. */
  protected get saidMetadata(): Metadata {
    return this.context?.answerHeads?.metadata ?? new Metadata();
  }

  protected headersOf(metadata: Metadata): Headers {
    const headers = new Headers();
    writeHeaders(metadata, headers);
    return headers;
  }

  /**
   * Returns what `make` does, which writes the metadata that the handler set. If HTTP cannot carry that, the handler has failed and not
   * the caller: throws an `Error`, the same one when the metadata is written again.
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

  /** Tells the hook of an error, of the metadata's once. */
  protected override tellHook(error: unknown): void {
    const isUnsendable = error !== undefined && error === this.unsendable;
    if (isUnsendable && this.isUnsendableTold) return;
    this.isUnsendableTold ||= isUnsendable;
    super.tellHook(error);
  }

  /** Returns what `make` does. Metadata that cannot be sent must not cost the caller the error: it is reported, and `without` made. */
  protected sparing<Made>(error: RpcError, make: () => Made, without: () => Made): Made {
    try {
      return make();
    } catch (unsendable) {
      if (unsendable !== error) this.tellHook(unsendable);
      return without();
    }
  }

  /** The error of a request that could not be read. Only an `RpcError` says to the caller why; anything else is reported here. */
  protected readingFailure(error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    this.tellHook(error);
    return new RpcError("invalid_argument", "the request could not be read");
  }

  /** The whole encoded answer, or one item. Throws for a value that does not fit. */
  protected encoded(value: unknown): Uint8Array {
    try {
      return this.encode(value);
    } catch (error) {
      throw this.misfit(error);
    }
  }

  private encode(value: unknown): Uint8Array {
    const codec = this.outputCodec();
    // A client reads a message, also of a method that returns nothing.
    if (codec === undefined && this.format.name === "json") return EMPTY_JSON;
    return encodeMessage(codec, value, this.settings.limits.maxFrameBytes);
  }

  /** The whole encoded answer, as the body of one. Throws for a value that does not fit. */
  protected encodedBody(value: unknown): WholeBody {
    try {
      const output = this.method?.output;
      const text = output && this.format.textOf?.(output, value);
      if (text === undefined) return this.encode(value);
      const body = bodyOf(text);
      const { maxFrameBytes } = this.settings.limits;
      if (lengthOf(body) > maxFrameBytes) throw tooLarge(maxFrameBytes);
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
