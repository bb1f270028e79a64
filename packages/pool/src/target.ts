import type { ConnectionState, Session } from "@quicrpc/core";
import {
  type CloseOptions,
  type DrainOptions,
  type SessionLinkOptions,
  totalOf,
  type Unacknowledged,
} from "@quicrpc/core/internal";
import type { BalancedTarget } from "./balance.js";
import type { HealthCheck } from "./health-watch.js";
import { type OutlierOptions, OutlierRecord, isTargetFailure } from "./outliers.js";
import { type PooledSession, Slot } from "./slot.js";

/** One target of a pool, with its current state. */
export interface PoolTarget<S extends Session = Session> extends BalancedTarget {
  /**
   * State of the target:
   * - `ready`: it can take calls
   * - `idle`: not dialled, because targets of a better priority can be used
   * - `connecting`: there is no session; `error` is the reason
   * - `unhealthy`: there is a session, but its peer is unhealthy or has not reported its health
   * - `ejected`: its calls failed; it gets none until `ejectedUntil`, unless no other target is ready
   */
  readonly status: "idle" | "ready" | "connecting" | "unhealthy" | "ejected";
  readonly priority: number;
  /** Sessions with the target, including those that cannot take calls. */
  readonly sessions: readonly S[];
  /** Reason why there is no session. Undefined if unknown. */
  readonly error: Error | undefined;
  /** End of the ejection in milliseconds since the epoch. Undefined if the target is not ejected. */
  readonly ejectedUntil: number | undefined;
}

export interface TargetSessionsOptions<S extends Session> extends Omit<SessionLinkOptions<S>, "dial" | "reconnect"> {
  readonly dial: (target: string, signal: AbortSignal) => Promise<S>;
  readonly sessions: number;
  readonly health: HealthCheck | undefined;
  readonly outliers: OutlierOptions | undefined;
  readonly onSuccess: () => void;
  /** Returns true if another target may be ejected. */
  readonly mayEject: () => boolean;
}

/** The sessions with one target. Decides whether the target gets calls. */
export class TargetSessions<S extends Session> implements PoolTarget<S> {
  readonly target: string;
  priority = 0;
  weight = 1;
  /**
   * Tier of the target. Targets of a higher tier are dialled and get calls only while no target of a lower tier can
   * take calls.
   */
  tier = 0;
  ejectedUntil: number | undefined = undefined;
  private readonly slots: readonly Slot<S>[];
  private readonly options: TargetSessionsOptions<S>;
  private readonly record: OutlierRecord | undefined;
  private ejection: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(target: string, options: TargetSessionsOptions<S>) {
    this.target = target;
    this.options = options;
    this.record = options.outliers && new OutlierRecord(options.outliers);
    const slot = {
      dial: (signal: AbortSignal) => options.dial(target, signal),
      backoff: options.backoff,
      reconnect: true,
      isPermanent: options.isPermanent,
      onChange: options.onChange,
      health: options.health,
      onCallOver: (error: unknown) => this.onCallOver(error),
    };
    this.slots = Array.from({ length: options.sessions }, () => new Slot<S>(slot));
  }

  get status(): PoolTarget["status"] {
    if (this.sessions.length === 0) return this.idle ? "idle" : "connecting";
    if (this.pick() === undefined) return "unhealthy";
    return this.ejectedUntil === undefined ? "ready" : "ejected";
  }

  get idle(): boolean {
    return this.states.every(({ status }) => status === "idle");
  }

  /** True if the target was dialled but cannot take calls now. */
  get failing(): boolean {
    return this.slots.every((slot) => slot.failing);
  }

  get calls(): number {
    let calls = 0;
    for (const { current } of this.slots) calls += current?.calls ?? 0;
    return calls;
  }

  get sessions(): readonly S[] {
    return this.slots.flatMap(({ current }) => current?.session ?? []);
  }

  get error(): Error | undefined {
    for (const { status, error } of this.states) if (status === "connecting" && error !== undefined) return error;
    return undefined;
  }

  get states(): readonly (ConnectionState & { readonly error?: Error })[] {
    return this.slots.map(({ link }) => link.state);
  }

  /** Reason why calls must not wait for the target, because no retry can help. Undefined if they may wait. */
  get refusal(): Error | undefined {
    return this.slots.every(({ link }) => link.refusal !== undefined) ? this.slots[0]?.link.refusal : undefined;
  }

  get drainsUntil(): number {
    return Math.max(...this.slots.map(({ link }) => link.drainsUntil));
  }

  /**
   * Returns the session with the fewest calls in progress, among those that can take calls. Undefined if there is none.
   */
  pick(): PooledSession<S> | undefined {
    let best: PooledSession<S> | undefined;
    for (const { ready } of this.slots) {
      if (ready !== undefined && (best === undefined || ready.calls < best.calls)) best = ready;
    }
    return best;
  }

  connect(): void {
    for (const { link } of this.slots) link.connect();
  }

  /** Retries at once where an attempt is waiting for its time. */
  hurry(): void {
    for (const { link } of this.slots) link.retryNow();
  }

  close(options?: CloseOptions): Promise<Unacknowledged> {
    clearTimeout(this.ejection);
    return totalOf(this.slots.map(({ link }) => link.close(options)));
  }

  drain(options?: DrainOptions): Promise<Unacknowledged> {
    clearTimeout(this.ejection);
    return totalOf(this.slots.map(({ link }) => link.drain(options)));
  }

  private onCallOver(error: unknown): void {
    if (error === undefined) this.options.onSuccess();
    if (this.record === undefined || this.ejectedUntil !== undefined) return;
    const failed = isTargetFailure(error);
    if (failed === undefined || !this.record.add(failed) || !this.options.mayEject()) return;
    const ms = this.record.eject();
    this.ejectedUntil = Date.now() + ms;
    this.ejection = setTimeout(() => {
      this.ejectedUntil = undefined;
      this.record?.return();
      this.options.onChange();
    }, ms);
    this.options.onChange();
  }
}
