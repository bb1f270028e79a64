import type { Limits, RpcError, ServerLoad } from "@quicrpc/core";
import { expiries, MemoryBudget } from "@quicrpc/core/transport";
import type { HttpExchange } from "./exchange.js";
import { HeldBytes } from "./held-bytes.js";

/** A request that is being answered. */
export class RequestInProgress {
  /** Charged with what the request and its answer take. */
  readonly budget: MemoryBudget;
  /** Holds of the answer what the client has not read. */
  readonly unsent: HeldBytes;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
    this.unsent = new HeldBytes(budget);
  }
}

/** The requests of which the answer is not complete: what they hold counts, and drains wait for them. */
export class RequestsInProgress {
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  private count = 0;
  /** Called when no call is in progress, or an answer is sent. */
  private readonly onProgress: Set<() => void> = new Set();

  constructor(load: ServerLoad, limits: Limits) {
    this.load = load;
    this.limits = limits;
  }

  get none(): boolean {
    return this.count === 0;
  }

  /** A request is answered from now on, until its client has the answer or is gone. */
  enter(exchange: HttpExchange, onEvicted: (error: RpcError, request: RequestInProgress) => void): RequestInProgress {
    const budget = new MemoryBudget(this.limits.maxSessionBytes, "limits.maxSessionBytes", this.load);
    const request = new RequestInProgress(budget);
    this.count++;
    const unread = new HeldBytes(budget);
    exchange.unread = unread;
    const place = this.load.add({ budget, onEvicted: (error) => onEvicted(error, request) });
    exchange.onEnd = () => {
      this.load.remove(place);
      unread.close();
      request.unsent.close();
      this.count--;
      this.progress();
    };
    return request;
  }

  /** To be called when no call is in progress any more. */
  progress(): void {
    for (const check of this.onProgress) check();
  }

  /** Fulfils with whether `holds` became true in time, which is asked whenever a call has ended, or an answer is sent. */
  async reaches(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    if (holds()) return true;
    return new Promise((resolve) => {
      const end = (reached: boolean): void => {
        expiries.remove(late);
        this.onProgress.delete(check);
        resolve(reached);
      };
      const check = (): void => {
        if (holds()) end(true);
      };
      const late = expiries.add(Math.min(timeoutMs, this.limits.maxTimeoutMs), () => end(false));
      this.onProgress.add(check);
    });
  }
}
