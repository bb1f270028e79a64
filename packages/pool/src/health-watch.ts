import type { TypedCaller } from "@quicrpc/core";
import { type Backoff, backoffDelay } from "@quicrpc/core/internal";

/** Reports whether a peer is able to serve: at first, and after each change. Must end when the signal fires. */
export type HealthCheck = (caller: TypedCaller, signal: AbortSignal) => AsyncIterable<boolean>;

/**
 * Watches the health of one session until `stop` is called. If the check fails, it is repeated; until it succeeds, the
 * peer counts as unhealthy.
 */
export class HealthWatch {
  private readonly abort: AbortController = new AbortController();
  private retry: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;

  /** @param onChange called with each change; the health is unknown before the first call */
  constructor(caller: TypedCaller, check: HealthCheck, backoff: Backoff, onChange: (able: boolean) => void) {
    const { signal } = this.abort;
    const watch = async (): Promise<void> => {
      try {
        for await (const able of check(caller, signal)) {
          if (signal.aborted) return;
          this.failures = 0;
          onChange(able);
        }
      } catch {
        if (signal.aborted) return;
        onChange(false);
        this.retry = setTimeout(() => void watch(), backoffDelay(this.failures++, backoff));
      }
    };
    void watch();
  }

  stop(): void {
    clearTimeout(this.retry);
    this.abort.abort();
  }
}
