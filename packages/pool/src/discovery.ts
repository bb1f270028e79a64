import { asError, type Backoff, backoffDelay } from "@quicrpc/core/internal";

/** A target of a pool, with priority and weight as in SRV records (RFC 2782). */
export interface TargetSpec {
  readonly target: string;
  /**
   * Priority of the target. Targets with a higher number are dialled and get calls only while no target with a lower
   * number can take calls. Default 0.
   */
  readonly priority?: number;
  /**
   * Weight of the target, a number above 0. Targets of the same priority get calls in proportion to their weights.
   * Default 1.
   */
  readonly weight?: number;
}

/** Returns the targets of a pool, for example from DNS. Must settle within a limited time. */
export type ResolveTargets = (signal: AbortSignal) => Promise<readonly (string | TargetSpec)[]>;

/** Returns each target once, with its first weight and priority. Throws `RangeError` for an invalid weight. */
export function targetSpecs(targets: readonly (string | TargetSpec)[]): Required<TargetSpec>[] {
  const specs = new Map<string, Required<TargetSpec>>();
  for (const entry of targets) {
    const { target, priority = 0, weight = 1 }: TargetSpec = typeof entry === "string" ? { target: entry } : entry;
    if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`the weight of ${target} is ${weight}; it must be a number above 0`);
    }
    if (!specs.has(target)) specs.set(target, { target, priority, weight });
  }
  return [...specs.values()];
}

/** Minimum time in milliseconds between two resolutions of the targets, also if targets fail. */
const MIN_INTERVAL_MS = 1000;

export interface DiscoveryOptions {
  readonly resolve: ResolveTargets;
  /** Milliseconds between a result of the resolver and the next resolution. */
  readonly refreshMs: number;
  readonly backoff: Backoff;
  readonly onTargets: (targets: readonly Required<TargetSpec>[]) => void;
  readonly onFailure: (error: Error) => void;
}

/** Keeps the list of a pool's targets up to date. If an update fails, the list stays unchanged. */
export class Discovery {
  /** Reason why there is no list, or no newer one. Undefined if the last update succeeded. */
  error: Error | undefined = undefined;
  private readonly options: DiscoveryOptions;
  private resolving: AbortController | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private askedAt = 0;
  private failures = 0;

  constructor(options: DiscoveryOptions) {
    this.options = options;
  }

  start(): void {
    this.resolveTargets();
  }

  /** Requests an update soon, because the list is probably out of date. */
  resolveSoon(): void {
    if (this.resolving !== undefined || this.failures > 0) return;
    this.scheduleResolve(Math.max(0, this.askedAt + MIN_INTERVAL_MS - Date.now()));
  }

  stop(): void {
    clearTimeout(this.timer);
    const { resolving } = this;
    this.resolving = undefined;
    resolving?.abort();
  }

  private resolveTargets(): void {
    const abort = new AbortController();
    this.resolving = abort;
    this.askedAt = Date.now();
    const resolve = async (): Promise<readonly Required<TargetSpec>[]> => {
      const targets = targetSpecs(await this.options.resolve(abort.signal));
      if (targets.length === 0) throw new Error("no targets were found");
      return targets;
    };
    resolve().then(
      (targets) => {
        if (this.resolving !== abort) return;
        this.resolving = undefined;
        this.error = undefined;
        this.failures = 0;
        this.scheduleResolve(this.options.refreshMs);
        this.options.onTargets(targets);
      },
      (thrown: unknown) => {
        if (this.resolving !== abort) return;
        this.resolving = undefined;
        this.error = asError(thrown);
        this.scheduleResolve(Math.max(MIN_INTERVAL_MS, backoffDelay(this.failures++, this.options.backoff)));
        this.options.onFailure(this.error);
      },
    );
  }

  private scheduleResolve(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.resolveTargets(), ms);
  }
}
