import { DeferredPromise } from "./deferred.js";
import { QuicError, resetError } from "./errors.js";
import type { HeaderPairs } from "./http-request.js";
import { QuicStream } from "./stream.js";
import { encodeFields, type HeaderFields } from "./web-transport-request.js";

/** Status and header fields of the response to a `ClientRequest`. */
export interface HttpResponse {
  /**
   * HTTP status of the response, 200 to 599. Interim responses (1xx) are skipped; more than 16 of them fail the
   * request.
   */
  readonly status: number;
  /** Header fields of the response in the server's order, with lower-case names. */
  readonly fields: HeaderPairs;
}

/**
 * A plain HTTP/3 request and its response (RFC 9114 §4), created by `Http3Session.request`. Writes send the body of the
 * request, and reads receive the body of the response. Error codes are those of HTTP/3 (RFC 9114 §8.1): to cancel, call
 * `reset(0x10c)` and `stopSending(0x10c)`.
 */
export class ClientRequest extends QuicStream {
  readonly #response = new DeferredPromise<HttpResponse>();
  readonly #trailers = new DeferredPromise<HeaderPairs>();

  /**
   * Status and header fields of the response. The promise stays pending while the stream is paused. Rejects if the
   * stream ends without a response. If `streamErrorCode` is 0x10b (H3_REQUEST_REJECTED), the server has not processed
   * the request, and the client can send it again.
   */
  get response(): Promise<HttpResponse> {
    return this.#response.promise;
  }

  /**
   * Trailers of the response. Resolves after the whole body has been received; empty if the response has no trailers.
   */
  get trailers(): Promise<HeaderPairs> {
    return this.#trailers.promise;
  }

  /** Ends the request, with trailers if they are given. Throws `QuicError` for fields that HTTP/3 cannot send. */
  end(trailers?: HeaderFields): void {
    if (trailers === undefined) this.write(new Uint8Array(0), true);
    else this.endWithTrailers(encodeFields(trailers));
  }

  override stopSending(code: number): void {
    const message = "this side has stopped reading the response";
    this.#fail(new QuicError({ source: "usage", code: "ERR_QUIC_CLOSED", message }));
    super.stopSending(code);
  }

  /** @internal Called by the engine with the head of the response. */
  receiveResponse(response: HttpResponse): void {
    this.#response.resolve(response);
  }

  /** @internal Called by the engine when the peer has ended its side of the stream. */
  override receiveEnd(isFreed: boolean, trailers: HeaderPairs | undefined): void {
    this.#trailers.resolve(trailers ?? []);
    super.receiveEnd(isFreed, trailers);
  }

  /** @internal Called by the engine when the peer has reset its sending side. */
  override receiveReset(isFreed: boolean, code: number): void {
    this.#fail(resetError(code));
    super.receiveReset(isFreed, code);
  }

  /** @internal Called by the engine when the session has ended before the stream. */
  override receiveClosed(error: QuicError | undefined): void {
    this.#fail(
      error ?? new QuicError({ source: "session", code: "ERR_QUIC_CLOSED", message: "the connection has closed" }),
    );
    super.receiveClosed(error);
  }

  #fail(error: QuicError): void {
    this.#response.reject(error);
    this.#trailers.reject(error);
  }
}
