import type { MemoryBudget } from "@quicrpc/core/internal";

/** Number of bytes that one request has charged to a memory budget. */
export class RequestBytes {
  private readonly budget: MemoryBudget;
  private held = 0;
  private closed = false;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  get some(): boolean {
    return this.held > 0;
  }

  /** Charges `bytes` more. Returns false if the budget is exceeded; the bytes stay charged nevertheless. */
  take(bytes: number): boolean {
    if (this.closed) return true;
    this.held += bytes;
    return this.budget.charge(bytes);
  }

  /** Charges the bytes of a response. If the budget is exceeded, releases all bytes and throws `RpcError`. */
  hold(bytes: number): void {
    if (this.take(bytes)) return;
    this.release();
    throw this.budget.refusal("the answer");
  }

  /**
   * Charges `bytes` more, or releases some if the number is negative. Throws `RpcError` if the budget is exceeded; the
   * bytes stay charged nevertheless.
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

  /** Releases all bytes; later charges have no effect. */
  close(): void {
    this.closed = true;
    this.release();
  }

  release(): void {
    this.budget.release(this.held);
    this.held = 0;
  }
}
