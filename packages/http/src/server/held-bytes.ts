import type { MemoryBudget } from "@quicrpc/core/transport";

/** Bytes that one request holds of its budget. */
export class HeldBytes {
  private readonly budget: MemoryBudget;
  private held = 0;
  private closed = false;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  /** Whether there are any. */
  get some(): boolean {
    return this.held > 0;
  }

  /** Holds so many bytes more. Returns false where that is too much: they are held all the same. */
  take(bytes: number): boolean {
    if (this.closed) return true;
    this.held += bytes;
    return this.budget.charge(bytes);
  }

  /** Holds an answer of so many bytes. Throws `RpcError` where that is too much: they are not held then. */
  hold(bytes: number): void {
    if (this.take(bytes)) return;
    this.release();
    throw this.budget.refusal("the answer");
  }

  /** Holds so many bytes more, or fewer. Throws `RpcError` where that is too much: they are held all the same. */
  change(bytes: number): void {
    if (bytes < 0) {
      const fewer = Math.min(this.held, -bytes);
      this.held -= fewer;
      this.budget.release(fewer);
      return;
    }
    if (!this.take(bytes)) throw this.budget.refusal("the request", true);
  }

  /** Releases all, and holds nothing from now on. */
  close(): void {
    this.closed = true;
    this.release();
  }

  release(): void {
    this.budget.release(this.held);
    this.held = 0;
  }
}
