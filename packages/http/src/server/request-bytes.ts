import type { MemoryBudget } from "@quicrpc/core/internal";

/** Bytes that one request has reserved of its budget. */
export class RequestBytes {
  private readonly budget: MemoryBudget;
  private held = 0;
  private closed = false;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  /** Whether any are reserved. */
  get some(): boolean {
    return this.held > 0;
  }

  /** Reserves more bytes. Returns false if the limit is exceeded; they are reserved nevertheless. */
  take(bytes: number): boolean {
    if (this.closed) return true;
    this.held += bytes;
    return this.budget.charge(bytes);
  }

  /** Reserves the bytes of a response. Throws `RpcError` if the limit is exceeded; they are not reserved then. */
  hold(bytes: number): void {
    if (this.take(bytes)) return;
    this.release();
    throw this.budget.refusal("the answer");
  }

  /**
   * Reserves more bytes, or fewer if negative. Throws `RpcError` if the limit is exceeded; they are reserved
   * nevertheless.
   */
  change(bytes: number): void {
    if (bytes < 0) {
      const fewer = Math.min(this.held, -bytes);
      this.held -= fewer;
      this.budget.release(fewer);
      return;
    }
    if (!this.take(bytes)) throw this.budget.refusal("the request", true);
  }

  /** Releases all bytes, and reserves none from now on. */
  close(): void {
    this.closed = true;
    this.release();
  }

  release(): void {
    this.budget.release(this.held);
    this.held = 0;
  }
}
