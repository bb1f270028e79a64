import type { MemoryBudget } from "@quicrpc/core/transport";

/** Bytes that one request holds of its budget. */
export class HeldBytes {
  private readonly budget: MemoryBudget;
  private held = 0;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  /** Holds so many bytes more, or fewer. Throws `RpcError` where that is too much: they are held all the same. */
  change(bytes: number): void {
    if (bytes < 0) {
      const fewer = Math.min(this.held, -bytes);
      this.held -= fewer;
      this.budget.release(fewer);
      return;
    }
    this.held += bytes;
    if (!this.budget.charge(bytes)) throw this.budget.refusal("the request", true);
  }

  release(): void {
    this.budget.release(this.held);
    this.held = 0;
  }
}
