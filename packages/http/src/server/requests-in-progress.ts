import type { Limits, RpcError, ServerLoad } from "@quicrpc/core";
import { expiries, MemoryBudget } from "@quicrpc/core/internal";
import type { HttpExchange } from "./exchange.js";
import { RequestBytes } from "./request-bytes.js";

export class RequestInProgress {
  readonly budget: MemoryBudget;
  /** Bytes charged for response data that the client has not read. */
  readonly unsent: RequestBytes;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
    this.unsent = new RequestBytes(budget);
  }
}

/**
 * All requests whose responses are not complete. Their memory counts toward the server's limit, and `drain` waits for
 * them.
 */
export class RequestsInProgress {
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  private count = 0;
  /** Callbacks that are called when the last call in progress has ended, or a response is complete. */
  private readonly onProgress: Set<() => void> = new Set();

  constructor(load: ServerLoad, limits: Limits) {
    this.load = load;
    this.limits = limits;
  }

  get none(): boolean {
    return this.count === 0;
  }

  /** Adds a request, until its client has received the response or disconnected. */
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

  /** Called by the server when the last call in progress has ended. */
  progress(): void {
    for (const check of this.onProgress) check();
  }

  /**
   * Waits until `holds` returns true, for at most `timeoutMs` milliseconds, and resolves with true if it did. `holds`
   * is evaluated whenever a call has ended or a response is complete.
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
