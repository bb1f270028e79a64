import { type Backoff, backoffDelay } from "../connection/backoff.js";

/** Finds the targets of a pool. Must settle in bounded time. */
export type ResolveTargets = (signal: AbortSignal) => Promise<readonly string[]>;

/** Failures of targets do not make it resolve more often than this, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/** What discovery is made of. */
export interface DiscoveryOptions {
  readonly resolve: ResolveTargets;
  /** Milliseconds from one answer to the next question. */
  readonly refreshMs: number;
  readonly backoff: Backoff;
  readonly onTargets: (targets: readonly string[]) => void;
  readonly onFailure: (error: Error) => void;
}

/** Keeps a list of targets up to date. A failure leaves the list as it was. */
export class Discovery {
  /** Why there is no list, or no newer one. */
  error: Error | undefined;
  private readonly options: DiscoveryOptions;
  private asking: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private askedAt = 0;
  private failures = 0;

  constructor(options: DiscoveryOptions) {
    this.options = options;
  }

  start(): void {
    this.ask();
  }

  /** There is reason to think that the list is out of date. */
  hurry(): void {
    if (this.asking !== undefined || this.failures > 0) return;
    this.askIn(Math.max(0, this.askedAt + MIN_INTERVAL_MS - Date.now()));
  }

  stop(): void {
    clearTimeout(this.timer);
    const { asking } = this;
    this.asking = undefined;
    asking?.abort();
  }

  private ask(): void {
    const abort = new AbortController();
    this.asking = abort;
    this.askedAt = Date.now();
    const resolve = async (): Promise<readonly string[]> => {
      const targets = [...new Set(await this.options.resolve(abort.signal))];
      if (targets.length === 0) throw new Error("no targets were found");
      return targets;
    };
    resolve().then(
      (targets) => {
        if (this.asking !== abort) return;
        this.asking = undefined;
        this.error = undefined;
        this.failures = 0;
        this.askIn(this.options.refreshMs);
        this.options.onTargets(targets);
      },
      (thrown: unknown) => {
        if (this.asking !== abort) return;
        this.asking = undefined;
        this.error = thrown instanceof Error ? thrown : new Error(String(thrown));
        this.askIn(Math.max(MIN_INTERVAL_MS, backoffDelay(this.failures++, this.options.backoff)));
        this.options.onFailure(this.error);
      },
    );
  }

  private askIn(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), ms);
  }
}
