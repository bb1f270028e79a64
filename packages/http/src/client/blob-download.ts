import { Metadata, RpcError } from "@quicrpc/core";
import {
  type BlobCaller,
  changedBlob,
  createSha256,
  DIGEST_TRAILER,
  TransferRetries,
  type ReadBlob,
} from "@quicrpc/blobs/internal";
import { BEGINS_WITH, readDigest, REPR_DIGEST, WANT_REPR_DIGEST } from "../protocol/blob-headers.js";
import { HttpClientCall, failureLater } from "./http-call.js";

type Downloaded = AsyncGenerator<Uint8Array, void> & { readonly trailers: Metadata };

/**
 * Reads a blob of a response from a position. After a lost connection, continues the download if the server supports
 * ranges.
 *
 * @param path path of the blob below the method's path, such as "/file/…"
 */
export function downloaded(
  { client, method }: HttpClientCall,
  path: string,
  request: ReadBlob,
  signal: AbortSignal | undefined,
): Downloaded {
  const trailers = new Metadata();
  const options = signal === undefined ? {} : { signal };
  const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
    let failure: RpcError | undefined;
    const call = new HttpClientCall(client, method, options, (error) => (failure = error));
    const retries = new TransferRetries(client as unknown as BlobCaller, options);
    const reading = new Download(call, path, request);
    try {
      for (;;) {
        try {
          for await (const chunk of reading.rest()) {
            retries.progressed();
            yield chunk;
          }
          break;
        } catch (error) {
          if (failure !== undefined) throw failure;
          if (!reading.canGoOn) throw error;
          await retries.waitForAttempt(error, options);
          retries.onMade();
        }
      }
      const sha256 = request.digest === true ? await reading.digest() : undefined;
      if (sha256 !== undefined) trailers.set(DIGEST_TRAILER, sha256);
    } finally {
      call.fail(new RpcError("cancelled", "the blob is no longer read"));
    }
  };
  return Object.assign(chunks(), { trailers });
}

function lost(cause: unknown): never {
  throw new RpcError("unavailable", "the connection was lost before the end of the blob", { cause });
}

class Download {
  readonly #call: HttpClientCall;
  readonly #path: string;
  readonly #etag: string;
  readonly #wantsDigest: boolean;
  /** Digest of the bytes before the position at which the download begins; undefined if none was given. */
  readonly #sha256: string | undefined;
  readonly #from: number;
  #at: number;
  /** True if the server supports a request for the missing bytes. */
  canGoOn = false;

  constructor(call: HttpClientCall, path: string, { from = 0, sha256, digest = false }: ReadBlob) {
    this.#call = call;
    this.#path = path;
    this.#etag = `"${path.slice(path.lastIndexOf("/") + 1)}"`;
    this.#from = from;
    this.#at = from;
    this.#sha256 = sha256;
    this.#wantsDigest = digest;
  }

  /** Requests the bytes that have not arrived yet, and yields them. */
  async *rest(): AsyncGenerator<Uint8Array, void> {
    const begun = this.#at;
    const isFirst = begun === this.#from;
    const response = await this.#ask("GET", begun, isFirst ? this.#sha256 : undefined);
    const { status, headers, body } = response;
    if (status !== 200 && status !== 206 && status !== 416) throw await failureLater(this.#call, response, false);
    this.canGoOn = headers.get("accept-ranges") === "bytes";
    // With status 416, no bytes are missing. Requesting the whole blob shows whether the receiver has the same bytes.
    const whole = status === 416 ? await this.#ask("GET", 0, undefined) : response;
    if (status === 416) await body?.cancel();
    if (whole.status !== 200 && whole.status !== 206) throw await failureLater(this.#call, whole, false);
    yield* this.#chunks(whole, whole.status === 206 ? 0 : begun, isFirst);
  }

  /** Requests the digest of the whole blob, which the server has computed while sending it. */
  async digest(): Promise<string | undefined> {
    const response = await this.#ask("HEAD", 0, undefined);
    return readDigest(response.headers.get(REPR_DIGEST));
  }

  /** Yields the bytes of a response, except the first `passed` bytes, which the receiver already has. */
  async *#chunks({ body }: Response, passed: number, isFirst: boolean): AsyncGenerator<Uint8Array, void> {
    const reader = (body as ReadableStream<Uint8Array> | null)?.getReader();
    const hash = passed > 0 && isFirst && this.#sha256 !== undefined ? createSha256() : undefined;
    let left = passed;
    for (;;) {
      const { done, value } = (await reader?.read().catch(lost)) ?? { done: true, value: undefined };
      if (done || value === undefined) break;
      const skipped = Math.min(left, value.length);
      if (skipped > 0) {
        hash?.update(value.subarray(0, skipped));
        left -= skipped;
        if (left === 0 && hash !== undefined && hash.hex() !== this.#sha256)
          throw changedBlob(`its first ${passed} bytes are others`);
      }
      if (skipped === value.length) continue;
      const rest = value.subarray(skipped);
      this.#at += rest.length;
      yield rest;
    }
    if (left > 0) throw changedBlob(`the receiver has ${passed} bytes of it, and there are ${passed - left}`);
  }

  async #ask(method: "GET" | "HEAD", at: number, sha256: string | undefined): Promise<Response> {
    return this.#call.send(
      { method },
      {
        range: at > 0 ? `bytes=${at}-` : undefined,
        "if-range": at > 0 ? this.#etag : undefined,
        [BEGINS_WITH]: at > 0 ? sha256 : undefined,
        [WANT_REPR_DIGEST]: this.#wantsDigest ? "sha-256=1" : undefined,
      },
      this.#path,
    );
  }
}
