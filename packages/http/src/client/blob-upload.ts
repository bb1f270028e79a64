import { Metadata, RpcError } from "@quicrpc/core";
import {
  type BlobCaller,
  type BlobOffers,
  type BlobReading,
  type BlobReference,
  DIGEST_TRAILER,
  TransferRetries,
} from "@quicrpc/blobs/internal";
import type { BlobField, UnsharedBytes } from "@quicrpc/core/internal";
import {
  BEGINS_WITH,
  PARTIAL_UPLOAD,
  readCount,
  REPR_DIGEST,
  UPLOAD_COMPLETE,
  UPLOAD_LENGTH,
  UPLOAD_OFFSET,
  writeDigest,
  writeDisposition,
  writeType,
} from "../protocol/blob-headers.js";
import { BLOB_ID } from "../protocol/blob-messages.js";
import { HttpClientCall, failureLater } from "./http-call.js";

/**
 * Initial number of bytes per request. A piece stays in memory until the server has received it, so that it can be sent
 * again.
 */
const PIECE_BYTES = 2_097_152;
/**
 * Maximum bytes of one request. Requests grow up to this size if the server answers each one soon. Most proxies accept
 * this size, and progress is still reported often enough.
 */
const MOST_PIECE_BYTES = 8_388_608;
const SOON_MS = 250;

/** Bytes that were read from a blob's source and are sent in one request. */
interface Piece {
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  /** True if a request with this piece got no response. */
  wasLost: boolean;
}

/** Uploads one blob of a call, and continues the upload after a lost connection. */
export class BlobUpload {
  readonly #call: HttpClientCall;
  readonly #offers: BlobOffers;
  readonly #field: BlobField;
  readonly #reference: BlobReference;
  readonly #retries: TransferRetries;
  #id: string | undefined = undefined;

  constructor(call: HttpClientCall, offers: BlobOffers, field: BlobField, reference: BlobReference) {
    this.#call = call;
    this.#offers = offers;
    this.#field = field;
    this.#reference = reference;
    this.#retries = new TransferRetries(call.client as unknown as BlobCaller, call.options ?? {});
  }

  /** Sends the whole blob and returns the id of the upload. */
  async send(): Promise<string> {
    let { at, sha256 } = await this.#anew(() => this.#begin());
    for (;;) {
      const begun = at;
      try {
        const goneOn = await this.#sendFrom(at, sha256);
        if (goneOn === undefined) return this.#id as string;
        ({ at, sha256 } = goneOn);
      } catch (error) {
        await this.#wait(error);
        ({ at, sha256 } = await this.#anew(() => this.#offset()));
      }
      if (at > begun) this.#retries.progressed();
    }
  }

  /**
   * Called when the call has failed. Removes the upload from the server, unless the sender chose the id of the blob, so
   * that a later call can continue the upload.
   */
  discard(): void {
    const [, , , , senderId = ""] = this.#reference;
    if (this.#id === undefined || senderId !== "") return;
    const { client, method } = this.#call;
    const call = new HttpClientCall(client, method, undefined, () => {});
    const drop = async (): Promise<void> => {
      const response = await call.send({ method: "DELETE" }, {}, `/${this.#field.name}/${this.#id}`);
      await response.body?.cancel();
    };
    drop()
      .catch(() => {})
      .finally(() => call.settle());
  }

  /**
   * Sends the bytes of the source from position `at`. If the server has received fewer bytes than were sent, returns
   * the position from which to send again.
   */
  async #sendFrom(at: number, sha256: string | undefined): Promise<{ at: number; sha256?: string } | undefined> {
    const digest = this.#field.digest !== undefined;
    const [ref] = this.#reference;
    const reading: BlobReading = { hasEnded: false, trailers: new Metadata(), reply: undefined };
    const chunks = this.#offers.read(
      { ref, from: at, ...(sha256 !== undefined && { sha256 }), ...(digest && { digest }) },
      reading,
    );
    for await (const piece of piecesOf(chunks, at)) {
      let { bytes } = piece;
      let offset = piece.at;
      for (let sent = false; !sent; ) {
        const hex = piece.isLast ? reading.trailers.get(DIGEST_TRAILER) : undefined;
        try {
          sent = await this.#append(offset, bytes, piece.isLast, hex);
        } catch (error) {
          piece.wasLost = true;
          await this.#wait(error);
        }
        if (sent) break;
        const { at: kept, sha256: has, isComplete } = await this.#anew(() => this.#offset());
        if (isComplete) break;
        if (kept < piece.at || kept > piece.at + piece.bytes.length) return { at: kept, sha256: has };
        if (kept > offset) this.#retries.progressed();
        bytes = piece.bytes.subarray(kept - piece.at);
        offset = kept;
      }
      this.#retries.progressed();
    }
    return undefined;
  }

  /**
   * Creates the upload on the server, or finds the existing one with the same id. Returns the position at which to
   * begin.
   */
  async #begin(): Promise<{ at: number; sha256?: string }> {
    const [, length, type, name, senderId = ""] = this.#reference;
    const path = senderId === "" ? "" : `/${senderId}`;
    const response = await this.#request(path, "POST", undefined, {
      [UPLOAD_COMPLETE]: "?0",
      [UPLOAD_LENGTH]: length === null ? undefined : String(length),
      "content-type": writeType(type),
      "content-disposition": writeDisposition(name),
    });
    if (response.status === 409 && senderId !== "") {
      await response.body?.cancel();
      this.#id = senderId;
      return this.#offset();
    }
    if (response.status !== 201) throw await failureLater(this.#call, response, false);
    const url = response.headers.get("location") ?? "";
    await response.body?.cancel();
    const id = url.slice(url.lastIndexOf("/") + 1);
    if (!BLOB_ID.test(id)) throw this.#call.unreadable(new RpcError("internal", "it has no valid Location header"));
    this.#id = id;
    return { at: 0 };
  }

  /** Requests how many bytes of the upload the server has received, and their digest. */
  async #offset(): Promise<{ at: number; sha256: string; isComplete: boolean }> {
    const response = await this.#request(`/${this.#id}`, "HEAD", undefined, { [BEGINS_WITH]: "?" });
    const { status, headers } = response;
    const at = readCount(headers.get(UPLOAD_OFFSET) ?? undefined);
    const sha256 = headers.get(BEGINS_WITH);
    if (status === 404) throw new RpcError("not_found", "the upload has expired on the server");
    if (status !== 204 || at === undefined || Number.isNaN(at) || sha256 === null)
      throw await failureLater(this.#call, response, false);
    return { at, sha256, isComplete: headers.get(UPLOAD_COMPLETE) === "?1" };
  }

  /**
   * Sends a piece at offset `at`. Returns true if the server has accepted it, false if the server is at another offset.
   */
  async #append(at: number, bytes: Uint8Array, isLast: boolean, sha256: string | undefined): Promise<boolean> {
    const response = await this.#request(`/${this.#id}`, "PATCH", bytes, {
      "content-type": PARTIAL_UPLOAD,
      [UPLOAD_OFFSET]: String(at),
      [UPLOAD_COMPLETE]: isLast ? "?1" : "?0",
      [REPR_DIGEST]: sha256 === undefined ? undefined : writeDigest(sha256),
    });
    if (response.status === 204) return true;
    const isProblem = response.headers.get("content-type") === "application/problem+json";
    if (!isProblem) throw await failureLater(this.#call, response, false);
    await response.body?.cancel();
    // The server is at another offset, or an earlier request whose response was lost has completed the upload.
    if (response.status === 409)
      throw new RpcError("unavailable", "the server's bytes of the upload differ from those sent");
    const { isComplete } = await this.#offset();
    if (!isComplete) throw new RpcError("failed_precondition", "the upload's length differs from the stated one");
    return true;
  }

  #request(
    path: string,
    method: "POST" | "HEAD" | "PATCH",
    body: Uint8Array | undefined,
    headers: Readonly<Record<string, string | undefined>>,
  ): Promise<Response> {
    const request = body === undefined ? { method } : { method, body: body as UnsharedBytes };
    return this.#call.send(request, headers, `/${this.#field.name}${path}`);
  }

  /** Repeats a request until a response arrives. */
  async #anew<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        await this.#wait(error);
      }
    }
  }

  async #wait(error: unknown): Promise<void> {
    if (this.#call.over) throw error;
    await this.#retries.waitForAttempt(error, this.#call.options ?? {});
    this.#retries.onMade();
    if (this.#call.over) throw error;
  }
}

/**
 * Divides chunks into pieces of the size of one request. Marks the last piece, which may be empty. The pieces share a
 * buffer: send each one before requesting the next.
 */
async function* piecesOf(chunks: AsyncIterable<Uint8Array>, from: number): AsyncGenerator<Piece, void> {
  let buffer: Uint8Array = new Uint8Array(0);
  let length = 0;
  let size = PIECE_BYTES;
  let at = from;
  for await (const chunk of chunks) {
    for (let rest = chunk; rest.length > 0; ) {
      const part = rest.subarray(0, size - length);
      rest = rest.subarray(part.length);
      buffer = withRoom(buffer, length, part.length, size);
      buffer.set(part, length);
      length += part.length;
      if (length < size) continue;
      const piece: Piece = { at, bytes: buffer, isLast: false, wasLost: false };
      const began = performance.now();
      yield piece;
      if (performance.now() - began < SOON_MS) size = Math.min(size * 2, MOST_PIECE_BYTES);
      // The request whose response was lost may still be reading the old buffer.
      if (piece.wasLost) buffer = new Uint8Array(size);
      at += length;
      length = 0;
    }
  }
  yield { at, bytes: buffer.subarray(0, length), isLast: true, wasLost: false };
}

/** Returns a buffer that starts with the first `length` bytes of `buffer` and has room for `more`, up to `size` bytes. */
function withRoom(buffer: Uint8Array, length: number, more: number, size: number): Uint8Array {
  if (length + more <= buffer.length) return buffer;
  const larger = new Uint8Array(Math.min(size, Math.max(length + more, length * 2)));
  larger.set(buffer.subarray(0, length));
  return larger;
}
