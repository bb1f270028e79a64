import { type Metadata, RpcError } from "@quicrpc/core";
import { type BoundMethod, type ClientLimits, cut, MAX_PIECE, type MemoryBudget } from "@quicrpc/core/internal";
import { changedBlob, DIGEST_TRAILER, type ReadBlob, readBlob } from "./read-method.js";
import type { BlobReference } from "./received-blob.js";
import { PacedHash } from "./paced-hash.js";
import { RetainedContent } from "./retained-content.js";
import { createSha256, type Sha256 } from "./sha256.js";
import { type BlobSource, chunksOf, type DescribedBlob, describedBlob, discard, type OpenedContent } from "./source.js";

/** Maximum number of blobs that one session offers at the same time. */
const MAX_OFFERS = 1024;
/** Milliseconds within which the receiver must start to read a blob of an output. */
const ANSWER_MS = 60_000;

export interface Offer {
  readonly reference: BlobReference;
  /** Error of the blob's source. Undefined if the source has not failed. */
  failure: unknown;
  /** Ends the offer. A read in progress fails. */
  release(): void;
}

export interface BlobReading {
  /** True if the receiver no longer waits for bytes. */
  readonly hasEnded: boolean;
  /** Trailers of the read. They contain the digest of the whole blob if the request asked for it. */
  readonly trailers: Metadata;
  readonly reply: { revoke(error: RpcError): void } | undefined;
}

interface OfferHost {
  readonly limits: ClientLimits;
  readonly budget: MemoryBudget;
  /** Resolves when the session has ended, so that the peer can no longer read the blobs. */
  readonly closed: Promise<unknown>;
}

/** Blobs that one side of a session offers to its peer, which reads them by calls. */
export class BlobOffers {
  private readonly offers: Map<number, Offered> = new Map();
  private next = 0;
  private isClosed = false;
  private readonly bound: BoundMethod = {
    method: readBlob,
    handler: (request: unknown, context) => this.read(request as Partial<ReadBlob>, context as unknown as BlobReading),
  };
  private readonly host: OfferHost;

  constructor(host: OfferHost) {
    this.host = host;
    void host.closed.then(() => {
      this.isClosed = true;
      for (const offer of this.offers.values()) offer.release();
    });
  }

  /** Returns the method that the peer calls to read blobs, or undefined if the ids belong to another method. */
  find(serviceId: number, methodId: number): BoundMethod | undefined {
    return serviceId === readBlob.service.id && methodId === readBlob.id ? this.bound : undefined;
  }

  /**
   * Offers a blob. A blob of an output is removed if it is not read within a time limit. Throws `RpcError` if `source`
   * is not a blob, or if too many blobs are offered.
   *
   * @param isResumable true if the reference contains the upload's id
   */
  add(source: BlobSource, isAnswer: boolean, isResumable: boolean): Offer {
    const described = describedBlob(source);
    if (this.offers.size >= MAX_OFFERS) {
      throw new RpcError(
        "resource_exhausted",
        `${MAX_OFFERS} blobs of this session have not been read yet, which is the limit`,
      );
    }
    const ref = this.next++;
    const { content, length = null, type = "", name = "", id = "" } = described;
    if (content instanceof RetainedContent) content.countedBy(this.host.budget, this.host.limits.maxRetainedBlobBytes);
    const reference = [ref, length, type.slice(0, 255), name.slice(0, 1024)] as const;
    const offered = new Offered(described, isResumable ? [...reference, id] : reference, () => this.offers.delete(ref));
    this.offers.set(ref, offered);
    if (isAnswer) offered.expireAfter(ANSWER_MS);
    if (this.isClosed) offered.release();
    return offered;
  }

  read(request: Partial<ReadBlob>, context: BlobReading): AsyncIterable<Uint8Array> {
    const { ref, from = 0, sha256 } = request;
    const offered = typeof ref === "number" ? this.offers.get(ref) : undefined;
    if (offered === undefined) throw new RpcError("not_found", "the blob does not exist, or its call is over");
    if (!Number.isSafeInteger(from) || from < 0 || (sha256 !== undefined && typeof sha256 !== "string"))
      throw new RpcError(
        "invalid_argument",
        "a request for a blob must have a position of at least 0, and its SHA-256 must be text",
      );
    return offered.read(from, sha256, request.digest === true, context);
  }
}

export class Offered implements Offer {
  readonly reference: BlobReference;
  failure: unknown = undefined;
  private readonly blob: DescribedBlob;
  private readonly onRelease: () => void;
  /** Number of reads so far. A new read ends the previous one. */
  private reads = 0;
  private released = false;
  private isAnswer = false;
  /** The read in progress. A new read ends it directly, because its source may never produce another chunk. */
  private reading: BlobReading | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(blob: DescribedBlob, reference: BlobReference, onRelease: () => void) {
    this.blob = blob;
    this.reference = reference;
    this.onRelease = onRelease;
  }

  expireAfter(ms: number): void {
    this.isAnswer = true;
    this.timer = setTimeout(() => this.release(), ms);
    (this.timer as { unref?(): void }).unref?.();
  }

  release(): void {
    this.released = true;
    clearTimeout(this.timer);
    this.onRelease();
    this.endRead(new RpcError("cancelled", "the call that the blob belongs to is over"));
    // A caller may use its content again, so only a response's content is discarded.
    if (this.isAnswer && this.reads === 0) discard(this.blob.content);
  }

  async *read(
    from: number,
    sha256: string | undefined,
    digest: boolean,
    context: BlobReading,
  ): AsyncGenerator<Uint8Array, void> {
    const { length, onProgress } = this.blob;
    this.endRead(new RpcError("aborted", "another read of the blob has started"));
    const readNumber = ++this.reads;
    this.reading = context;
    clearTimeout(this.timer);
    try {
      if (length !== undefined && from > length) throw this.tooShort(from, length);
      const opened = await this.opened(from, digest || sha256 !== undefined);
      const { hash } = opened;
      const passedHash = hash && new PacedHash(hash);
      let { at } = opened;
      if (at === from) this.check(from, sha256, hash);
      for await (const chunk of this.chunks(opened)) {
        // The error has no receiver: the read had already been ended.
        if (this.released || readNumber !== this.reads || context.hasEnded)
          throw new RpcError("cancelled", "the read is over");
        const skipped = Math.max(0, Math.min(chunk.length, from - at));
        if (skipped > 0) {
          await passedHash?.update(chunk.subarray(0, skipped));
          at += skipped;
          if (at === from) this.check(from, sha256, hash);
        }
        if (skipped === chunk.length) continue;
        const rest = skipped === 0 ? chunk : chunk.subarray(skipped);
        if (length !== undefined && at + rest.length > length) {
          at += rest.length;
          break;
        }
        // Node returns all bytes of a `Blob` in memory as one chunk.
        for (const part of cut(rest, MAX_PIECE)) {
          at += part.length;
          if (digest) hash?.update(part);
          yield part;
          onProgress?.(at, length);
        }
      }
      if (at < from) throw this.tooShort(from, at);
      if (length !== undefined && at !== length)
        throw this.failed(new Error(`it has ${at} bytes, but its length was given as ${length}`));
      if (digest && hash !== undefined) context.trailers.set(DIGEST_TRAILER, hash.hex());
      if (readNumber === this.reads) this.reading = undefined;
      if (this.isAnswer) this.release();
    } finally {
      if (readNumber === this.reads) this.reading = undefined;
      if (this.isAnswer && readNumber === this.reads && !this.released) this.expireAfter(ANSWER_MS);
    }
  }

  private endRead(error: RpcError): void {
    this.reading?.reply?.revoke(error);
    this.reading = undefined;
  }

  /**
   * Opens the content at the position `from`, or at an earlier position if the content cannot start at any position.
   */
  private async opened(from: number, hashes: boolean): Promise<OpenedContent> {
    const { content } = this.blob;
    try {
      if (content instanceof RetainedContent) return await content.open(from);
      return { chunks: chunksOf(content), at: 0, hash: hashes ? createSha256() : undefined };
    } catch (error) {
      throw this.failed(error);
    }
  }

  /** Throws if the bytes before `from` that the receiver has differ from those of the source. */
  private check(from: number, sha256: string | undefined, hash: Sha256 | undefined): void {
    if (sha256 === undefined || hash?.copy().hex() === sha256) return;
    throw this.changed(`its first ${from} bytes differ`);
  }

  private tooShort(received: number, length: number): RpcError {
    return this.changed(`the receiver has ${received} bytes, but the blob has ${length}`);
  }

  private changed(difference: string): RpcError {
    return this.failed(changedBlob(difference));
  }

  private async *chunks({ chunks }: OpenedContent): AsyncGenerator<Uint8Array, void> {
    try {
      yield* chunks;
    } catch (error) {
      throw this.failed(error);
    }
  }

  private failed(cause: unknown): RpcError {
    this.failure = cause;
    return cause instanceof RpcError ? cause : new RpcError("aborted", "the source of the blob failed", { cause });
  }
}
