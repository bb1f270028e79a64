import type { RpcError } from "../errors.js";
import { completeLimits, type Limits } from "../limits.js";
import type { MemoryBudget, ServerBudget } from "../memory-budget.js";

/** A session that may be closed where others need what it holds. */
interface Member {
  close(error: RpcError): void;
  /** What it held when that began. */
  leavingBytes: number;
}

/** What the sessions of one server do together, for those that share it. */
export class ServerLoad implements ServerBudget {
  /** Handlers of calls and notifications that have not settled. */
  handlers = 0;
  /** Of those, handlers whose call is over. */
  outliving = 0;
  /** Bytes that all peers make this side hold, by estimate. */
  held = 0;
  readonly max: number;
  readonly setting: string = "limits.maxServerBytes";
  private readonly members: Map<MemoryBudget, Member> = new Map();
  /** Of `held`, what sessions hold that are being closed. */
  private leaving = 0;
  private waiting: (() => void)[] = [];

  constructor(limits?: Partial<Limits>) {
    this.max = completeLimits(limits).maxServerBytes;
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

  /** A session has begun. Returns what is to be called when it has ended; what it holds then is held until it is given back. */
  enter(budget: MemoryBudget, close: (error: RpcError) => void): () => void {
    const member: Member = { close, leavingBytes: 0 };
    this.members.set(budget, member);
    return () => {
      this.members.delete(budget);
      this.leaving -= member.leavingBytes;
      member.leavingBytes = 0;
    };
  }

  /** Corrects `held` by what can be measured. */
  measure(): void {
    for (const budget of this.members.keys()) budget.measure();
  }

  /** Closes sessions that hold more than `asking` does, until there is room or it is the largest itself. */
  makeRoomFor(asking: MemoryBudget): boolean {
    this.measure();
    while (this.held - this.leaving > this.max) {
      const largest = this.largest(asking);
      if (largest === asking) return false;
      this.evict(largest);
    }
    return true;
  }

  private largest(asking: MemoryBudget): MemoryBudget {
    let largest = asking;
    for (const [budget, { leavingBytes }] of this.members) {
      if (leavingBytes === 0 && budget.held > largest.held) largest = budget;
    }
    return largest;
  }

  private evict(budget: MemoryBudget): void {
    const member = this.members.get(budget) as Member;
    const error = budget.refusal("the session");
    member.leavingBytes = budget.held;
    this.leaving += budget.held;
    member.close(error);
  }
}
