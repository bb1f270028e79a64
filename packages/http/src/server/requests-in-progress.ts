import type { Limits, RpcError, ServerLoad } from "@quicrpc/core";
import { expiries, MemoryBudget } from "@quicrpc/core/internal";
import type { HttpExchange } from "./exchange.js";
import { RequestBytes } from "./request-bytes.js";

/** A request that is being answered. */
export class RequestInProgress {
  /** Charged for the request and its response. */
  readonly budget: MemoryBudget;
  /** Charged for data of the response that the client has not read. */
  readonly unsent: RequestBytes;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
    this.unsent = new RequestBytes(budget);
  }
}

/** The requests whose response is not complete: their memory counts, and drains wait for them. */
export class RequestsInProgress {
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  private count = 0;
  /** Called when the last call in progress has ended, or a response is sent. */
  private readonly onProgress: Set<() => void> = new Set();

  constructor(load: ServerLoad, limits: Limits) {
    this.load = load;
    this.limits = limits;
  }

  get none(): boolean {
    return this.count === 0;
  }

  /** Adds a request until its client has the response or has disconnected. */
  enter(exchange: HttpExchange, onEvicted: (error: RpcError, request: RequestInProgress) => void): RequestInProgress {
    const budget = new MemoryBudget(this.limits.maxSessionBytes, "limits.maxSessionBytes", this.load);
    const request = new RequestInProgress(budget);
    this.count++;
    const unread = new RequestBytes(budget);
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

  /** Must be called when the last call in progress has ended. */
  progress(): void {
    for (const check of this.onProgress) check();
  }

  /**
   * Resolves with whether `holds` became true in time. It is evaluated whenever a call has ended or a response is sent.
   */
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
