import type { BaseCaller } from "../call/base-caller.js";
import { scheduleAttempt } from "../call/next-attempt.js";
import type { CallOptions } from "../call/options.js";
import { RpcError } from "../errors.js";
import { isEndOfSession } from "../transport/close-codes.js";

/** The caller of a call with blobs that go on: a connection, say. */
export type BlobCaller = Pick<BaseCaller, "begin" | "resumption">;

/** Counts the losses of one transfer, and says whether it goes on. */
export class Losses {
  private readonly caller: BlobCaller;
  private readonly forMs: number;
  private failures = 0;
  private lostAt: number | undefined = undefined;
  private begun = false;
  private unsuspend: (() => void) | undefined = undefined;

  constructor(caller: BlobCaller, options: CallOptions) {
    this.caller = caller;
    this.forMs = options.resumeForMs ?? caller.resumption?.forMs ?? 0;
  }

  /** There is a session again. */
  onMade(): void {
    this.unsuspend?.();
    this.unsuspend = undefined;
  }

  /** More has arrived than before: the time that remains begins anew with the next loss. */
  progressed(): void {
    this.failures = 0;
    this.lostAt = undefined;
  }

  /** Waits before the next attempt. Rejects, with `thrown` as an `RpcError`, where there is none: it was no loss, or it takes too long. */
  async wait(thrown: unknown, options: CallOptions): Promise<void> {
    this.onMade();
    const error = RpcError.from(thrown);
    const { resumption } = this.caller;
    // A refusal is the end of a call that no handler has seen; once lost, it is what keeps the next attempt from being made.
    const isLoss = error.code === "unavailable" && (!error.refused || this.begun || isEndOfSession(error));
    this.begun = true;
    this.lostAt ??= Date.now();
    if (resumption === undefined || !isLoss || Date.now() - this.lostAt > this.forMs) throw error;
    await new Promise<void>((resolve, reject) => {
      const giveUp = (failure: RpcError): void => {
        stop();
        this.onMade();
        reject(failure);
      };
      const stop = scheduleAttempt(this.failures++, resolve, { options, timeoutMs: options.timeoutMs, giveUp });
      this.unsuspend = resumption.suspend(giveUp);
    });
  }
}
