import { RpcError } from "@quicrpc/core";
import { ITEM_BYTES, type MemoryBudget } from "@quicrpc/core/internal";
import { PacedHash } from "./paced-hash.js";
import { createSha256, type Sha256 } from "./sha256.js";
import { type BlobContent, chunksOf, discard, type OpenedContent } from "./source.js";

interface Piece {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/**
 * Content that can be read only once, such as a stream. It stores the last bytes that were read, within a memory
 * budget. After a lost session, these bytes can be read again.
 */
export class RetainedContent implements AsyncIterable<Uint8Array> {
  private readonly content: BlobContent;
  private iterator: AsyncIterator<Uint8Array> | undefined = undefined;
  private readonly retained: Piece[] = [];
  /** Position of the first stored byte (`first`), and position after the last stored byte (`end`). */
  private first = 0;
  private end = 0;
  private done = false;
  /** Digest of all bytes before the position `first`. */
  private readonly hash: Sha256 = createSha256();
  private pulling: Promise<void> | undefined = undefined;
  private heldBytes = 0;
  private maxBytes = 0;
  private budget: MemoryBudget | undefined = undefined;
  private closed = false;

  constructor(content: BlobContent) {
    this.content = content;
  }

  /**
   * Charges the stored bytes to the budget of the session that transfers the content from now on.
   *
   * @param maxBytes maximum number of bytes to store
   */
  countedBy(budget: MemoryBudget, maxBytes: number): void {
    if (this.closed) return;
    this.budget?.release(this.heldBytes);
    this.budget = budget;
    this.maxBytes = maxBytes;
    budget.charge(this.heldBytes);
    this.makeRoom(0);
  }

  /**
   * Opens the content at the byte `from`. Rejects with `RpcError` `out_of_range` if the store has dropped that byte.
   */
  async open(from: number): Promise<OpenedContent> {
    if (from < this.first || from > this.end) throw this.discarded(from);
    const hash = this.hash.copy();
    const paced = new PacedHash(hash);
    // Uses a copy, because pieces that are removed during the hashing must be hashed here too.
    const before = this.retained.filter(({ at }) => at < from);
    for (const { at, bytes } of before) await paced.update(bytes.subarray(0, from - at));
    return { chunks: this.read(from), at: from, hash };
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.read(0);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.budget?.release(this.heldBytes);
    this.budget = undefined;
    this.retained.length = 0;
    if (this.iterator === undefined) discard(this.content);
    else if (!this.done) Promise.resolve(this.iterator.return?.()).catch(() => {});
  }

  private async *read(from: number): AsyncGenerator<Uint8Array, void> {
    for (let position = from; ; ) {
      if (position < this.first) throw this.discarded(position);
      const part = this.pieceAt(position);
      if (part !== undefined) {
        const next = part.bytes.subarray(position - part.at);
        position += next.length;
        yield next;
      } else if (this.done || this.closed) return;
      else await this.pull();
    }
  }

  /**
   * Returns the stored chunk that contains the byte at `position`. Returns undefined if that byte has not been read
   * from the source yet.
   */
  private pieceAt(position: number): Piece | undefined {
    if (position >= this.end) return undefined;
    const { retained } = this;
    let [low, high] = [0, retained.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((retained[middle] as Piece).at <= position) low = middle;
      else high = middle - 1;
    }
    return retained[low];
  }

  /**
   * Reads the next chunk from the source. Several attempts share one pending read: if an attempt ends, the next one
   * receives the chunk.
   */
  private pull(): Promise<void> {
    this.pulling ??= this.readSource().finally(() => (this.pulling = undefined));
    return this.pulling;
  }

  private async readSource(): Promise<void> {
    this.iterator ??= chunksOf(this.content)[Symbol.asyncIterator]();
    const { done, value } = await this.iterator.next();
    if (done === true) this.done = true;
    if (done === true || this.closed || value.length === 0) return;
    this.makeRoom(sizeOf(value));
    this.retained.push({ at: this.end, bytes: value });
    this.end += value.length;
    this.heldBytes += sizeOf(value);
    this.budget?.charge(sizeOf(value));
  }

  /**
   * Removes the oldest chunks until there is room for `bytes` more bytes, or no chunk is left. The next chunk is stored
   * in any case.
   */
  private makeRoom(bytes: number): void {
    const { budget, retained } = this;
    while (retained.length > 0 && bytes > Math.min(this.maxBytes - this.heldBytes, budget?.room ?? bytes)) {
      const dropped = (retained.shift() as Piece).bytes;
      this.hash.update(dropped);
      this.first += dropped.length;
      this.heldBytes -= sizeOf(dropped);
      budget?.release(sizeOf(dropped));
    }
  }

  private discarded(from: number): RpcError {
    const text = `the blob cannot continue at byte ${from}: its source is a stream, of which bytes ${this.first} to ${this.end} are retained`;
    const hint =
      "give a Blob, a File, fileBlob(path) or a function, which can be read again, or raise limits.maxRetainedBlobBytes";
    return new RpcError("out_of_range", text, { hint });
  }
}

function sizeOf(chunk: Uint8Array): number {
  return chunk.length + ITEM_BYTES;
}
