import { completeLimits, type Limits } from "../limits.js";
import { MemoryBudget } from "../memory-budget.js";

/** What the sessions of one server do together, for those that share it. */
export class ServerLoad {
  /** Handlers of calls and notifications that have not settled. */
  handlers = 0;
  /** Of those, handlers whose call is over. */
  outliving = 0;
  /** What their peers make this side hold. */
  readonly budget: MemoryBudget;
  private waiting: (() => void)[] = [];

  constructor(limits?: Partial<Limits>) {
    this.budget = new MemoryBudget(completeLimits(limits).maxServerBytes, "limits.maxServerBytes");
  }

  /** Fulfils when no handler runs. */
  get idle(): Promise<void> {
    return this.handlers === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  /** To be called when one of them has settled. */
  handlerSettled(): void {
    if (--this.handlers > 0 || this.waiting.length === 0) return;
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
