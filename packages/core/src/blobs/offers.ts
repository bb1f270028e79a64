import { RpcError } from "../errors.js";
import type { BoundMethod } from "../server/router.js";
import { readBlob } from "./read-method.js";
import type { BlobReference } from "./received-blob.js";
import { type BlobSource, chunksOf, type DescribedBlob, describedBlob, discard } from "./source.js";

/** Blobs that one session offers at once. */
const MAX_OFFERS = 1024;
/** Milliseconds that an answer's blob waits for its first read. */
const ANSWER_MS = 60_000;

/** One blob that the peer may read. */
export interface Offer {
  readonly reference: BlobReference;
  /** Why its source failed; undefined where it has not. */
  failure: unknown;
  /** It can be read no more, and a read in progress fails. */
  release(): void;
}

/** The blobs that one side of a session offers the other, which reads them by calls. */
export class BlobOffers {
  private readonly offers: Map<number, Offered> = new Map();
  private next = 0;
  private over = false;
  private readonly bound: BoundMethod = {
    method: readBlob,
    handler: (request: unknown) => this.read(request),
  };

  /** @param closed fulfils when the session has ended, and nobody can read what it offers any more */
  constructor(closed: Promise<unknown>) {
    void closed.then(() => {
      this.over = true;
      for (const offer of this.offers.values()) offer.release();
    });
  }

  /** The method by which the peer reads them; undefined for another. */
  find(serviceId: number, methodId: number): BoundMethod | undefined {
    return serviceId === readBlob.service.id && methodId === readBlob.id ? this.bound : undefined;
  }

  /** Offers a blob; one of an answer for a limited time, until it is read. Throws `RpcError` for what is none, and for too many. */
  add(source: BlobSource, isAnswer: boolean): Offer {
    const described = describedBlob(source);
    if (this.offers.size >= MAX_OFFERS) {
      throw new RpcError("resource_exhausted", `${MAX_OFFERS} blobs of this session wait to be read`);
    }
    const ref = this.next++;
    const { length = null, type = "", name = "" } = described;
    const offered = new Offered(described, [ref, length, type.slice(0, 255), name.slice(0, 1024)], () =>
      this.offers.delete(ref),
    );
    this.offers.set(ref, offered);
    if (isAnswer) offered.expireAfter(ANSWER_MS);
    if (this.over) offered.release();
    return offered;
  }

  private read(request: unknown): AsyncIterable<Uint8Array> {
    const { ref } = request as { readonly ref?: unknown };
    const offered = typeof ref === "number" ? this.offers.get(ref) : undefined;
    if (offered === undefined) throw new RpcError("not_found", "the blob is not offered, or not any more");
    return offered.read();
  }
}

class Offered implements Offer {
  readonly reference: BlobReference;
  failure: unknown = undefined;
  private readonly blob: DescribedBlob;
  private readonly forget: () => void;
  /** Counts the reads: a new one ends that before. */
  private reads = 0;
  private released = false;
  private isAnswer = false;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(blob: DescribedBlob, reference: BlobReference, forget: () => void) {
    this.blob = blob;
    this.reference = reference;
    this.forget = forget;
  }

  expireAfter(ms: number): void {
    this.isAnswer = true;
    this.timer = setTimeout(() => this.release(), ms);
    (this.timer as { unref?(): void }).unref?.();
  }

  release(): void {
    this.released = true;
    clearTimeout(this.timer);
    this.forget();
    // What a caller gives it may give again.
    if (this.isAnswer && this.reads === 0) discard(this.blob.content);
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    const { content, length, onProgress } = this.blob;
    const turn = ++this.reads;
    clearTimeout(this.timer);
    let sent = 0;
    try {
      for await (const chunk of this.chunks(content)) {
        if (this.released) throw new RpcError("cancelled", "the call that the blob belongs to is over");
        if (turn !== this.reads) throw new RpcError("aborted", "the blob is read anew");
        sent += chunk.length;
        if (length !== undefined && sent > length) break;
        yield chunk;
        onProgress?.(sent, length);
      }
      if (length !== undefined && sent !== length)
        throw this.failed(new Error(`its source has other than ${length} bytes`));
      if (this.isAnswer) this.release();
    } finally {
      if (this.isAnswer && turn === this.reads && !this.released) this.expireAfter(ANSWER_MS);
    }
  }

  private async *chunks(content: DescribedBlob["content"]): AsyncGenerator<Uint8Array, void> {
    try {
      yield* chunksOf(content);
    } catch (error) {
      throw this.failed(error);
    }
  }

  private failed(cause: unknown): RpcError {
    this.failure = cause;
    return cause instanceof RpcError ? cause : new RpcError("aborted", "the source of the blob failed", { cause });
  }
}
