import { type CallOptions, RpcError } from "@quicrpc/core";
import { type BaseCaller, isEndOfSession, scheduleAttempt } from "@quicrpc/core/internal";

export type BlobCaller = Pick<BaseCaller, "begin" | "resumption">;

/** Counts the lost sessions of one blob transfer, and decides whether to try again. */
export class TransferRetries {
  private readonly caller: BlobCaller;
  private readonly forMs: number;
  private failures = 0;
  private lostAt: number | undefined = undefined;
  private hasAttempted = false;
  private unsuspend: (() => void) | undefined = undefined;

  constructor(caller: BlobCaller, options: CallOptions) {
    this.caller = caller;
    this.forMs = options.resumeForMs ?? caller.resumption?.forMs ?? 0;
  }

  /** Notes that a new session exists. */
  onMade(): void {
    this.unsuspend?.();
    this.unsuspend = undefined;
  }

  /** Notes that more bytes have arrived. The time limit starts again after the next lost session. */
  progressed(): void {
    this.failures = 0;
    this.lostAt = undefined;
  }

  /**
   * Waits before the next attempt. Rejects with `thrown` as an `RpcError` if the error is not that of a lost session,
   * or if the time limit has passed.
   */
  async waitForAttempt(thrown: unknown, options: CallOptions): Promise<void> {
    this.onMade();
    const error = RpcError.from(thrown);
    const { resumption } = this.caller;
    // If the first attempt is refused, no session was lost. After a lost session, a refusal only means that the next
    // attempt could not start.
    const isLoss = error.code === "unavailable" && (!error.refused || this.hasAttempted || isEndOfSession(error));
    this.hasAttempted = true;
    this.lostAt ??= Date.now();
    if (resumption === undefined || !isLoss || Date.now() - this.lostAt > this.forMs) throw error;
    await new Promise<void>((resolve, reject) => {
      const cancel = (failure: RpcError): void => {
        stop();
        this.onMade();
        reject(failure);
      };
      const stop = scheduleAttempt(this.failures++, resolve, { options, timeoutMs: options.timeoutMs, cancel });
      this.unsuspend = resumption.suspend(cancel);
    });
  }
}
