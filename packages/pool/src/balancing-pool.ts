import { type CallOptions, type ConnectionState, DEFAULT_LIMITS, type RpcError, type Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  type Backoff,
  closedError,
  type CloseOptions,
  DEFAULT_BACKOFF,
  type Deferred,
  deferred,
  type DrainOptions,
  type ItemIterator,
  notReady,
  type PendingCall,
  publicUrl,
  type ReadyOptions,
  RetryBudget,
  SessionCaller,
  totalOf,
  type Unacknowledged,
  Watched,
  whenReady,
  withResuming,
} from "@quicrpc/core/internal";
import { type Balance, balancer } from "./balance.js";
import { isKeyed, Subset } from "./rendezvous.js";
import { Discovery, type ResolveTargets, targetSpecs, type TargetSpec } from "./discovery.js";
import { DEFAULT_OUTLIERS } from "./outliers.js";
import type { Pool, PoolOptions } from "./pool.js";
import type { PooledSession } from "./slot.js";
import { TargetSessions, type TargetSessionsOptions } from "./target.js";

const DEFAULT_REFRESH_MS = 30_000;

/** A pool that selects a target for each call, and then a session of that target. */
export class BalancingPool<S extends Session> extends SessionCaller<PooledSession<S>> implements Pool<S> {
  private readonly watched: Watched<ConnectionState> = new Watched<ConnectionState>({ status: "idle" });
  private readonly balance: Balance;
  private readonly isKeyed: boolean;
  private readonly targetOptions: TargetSessionsOptions<S>;
  private readonly discovery: Discovery | undefined;
  private readonly end: Deferred<void> = deferred();
  private readonly isPermanent: (error: Error) => boolean;
  private readonly subset: Subset | undefined;
  private readonly budget: RetryBudget = new RetryBudget();
  private known: readonly TargetSessions<S>[] = [];
  /** Highest tier that the pool dials. A tier is a group of targets, by their priority and their rank in the subset. */
  private dialled: number = Number.NEGATIVE_INFINITY;
  /** Targets that were removed from the list but still have calls in progress. */
  private readonly leaving: Set<TargetSessions<S>> = new Set();
  /** Number of notifications that removed targets did not acknowledge. */
  private unacknowledged = 0;
  /** Number of streams that wait to be resumed. */
  private resuming = 0;
  /** Known targets that can take calls. */
  private candidates: readonly TargetSessions<S>[] = [];

  constructor(
    targets: readonly (string | TargetSpec)[] | ResolveTargets,
    dial: (target: string, signal: AbortSignal) => Promise<S>,
    options: PoolOptions,
  ) {
    super({ ...DEFAULT_LIMITS, ...options.limits });
    const { sessionsPerTarget = 1, outliers = {}, refreshMs = DEFAULT_REFRESH_MS, health, subset } = options;
    const backoff: Backoff = { ...DEFAULT_BACKOFF, ...options.backoff };
    this.balance = balancer(options.balance ?? "powerOfTwo");
    this.isKeyed = isKeyed(options.balance);
    this.subset = subset && new Subset(subset);
    this.isPermanent = options.isPermanent ?? (() => false);
    const ejectable = outliers === false ? undefined : { ...DEFAULT_OUTLIERS, ...outliers };
    this.targetOptions = {
      dial,
      backoff,
      isPermanent: this.isPermanent,
      sessions: sessionsPerTarget,
      health,
      outliers: ejectable,
      onSuccess: () => this.budget.earn(),
      mayEject: () => {
        const inUse = this.known.filter(({ idle }) => !idle).length;
        return ejectable !== undefined && this.ejected + 1 <= inUse * ejectable.maxEjectedShare;
      },
      onChange: () => this.update(),
    };
    if (typeof targets === "function") {
      const onTargets = (specs: readonly Required<TargetSpec>[]): void => this.setTargets(specs);
      const onFailure = (): void => this.update();
      this.discovery = new Discovery({ resolve: targets, refreshMs, backoff, onTargets, onFailure });
    } else {
      this.setKnown(targetSpecs(targets), new Map());
    }
  }

  get state(): ConnectionState {
    return this.watched.value;
  }

  get targets(): readonly TargetSessions<S>[] {
    return this.known;
  }

  get closed(): Promise<void> {
    return this.end.promise;
  }

  states(): ItemIterator<ConnectionState> {
    return this.watched.watch();
  }

  connect(): void {
    this.startTargets();
    for (const target of this.known) target.hurry();
  }

  async ready(options?: ReadyOptions): Promise<void> {
    const ready = (): true | undefined => (this.candidates.length > 0 ? true : undefined);
    const connect = (): void => this.startTargets();
    await whenReady(
      this.states(),
      { connect, ready, refusal: () => this.refusal, closeError: () => this.lastError() },
      options,
    );
  }

  close(options?: CloseOptions): Promise<Unacknowledged> {
    return this.finish((target) => target.close(options));
  }

  drain(options?: DrainOptions): Promise<Unacknowledged> {
    return this.finish((target) => target.drain(options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  protected pick(method: AnyMethod, input: unknown, options: CallOptions | undefined): PooledSession<S> | undefined {
    const { candidates } = this;
    if (candidates.length === 0) return undefined;
    const chosen = this.balance(candidates, method, input, options).pick();
    if (chosen === undefined) return this.any(options);
    if (this.hasPlace(chosen.session, options)) return chosen;
    // All calls of a key use the same target, however long they wait for it.
    return this.isKeyed ? undefined : this.any(options);
  }

  protected get takesCalls(): boolean {
    return this.candidates.some((target) => target.pick() !== undefined);
  }

  protected get drainsUntil(): number {
    return Math.max(0, ...this.known.map((target) => target.drainsUntil));
  }

  protected override get picksDiffer(): boolean {
    return this.isKeyed;
  }

  protected mayRepeat(): boolean {
    return this.budget.spend();
  }

  /** Returns a session that can take another call. */
  private any(options: CallOptions | undefined): PooledSession<S> | undefined {
    for (const target of this.candidates) {
      const other = target.pick();
      if (other !== undefined && this.hasPlace(other.session, options)) return other;
    }
    return undefined;
  }

  protected override onCall(session: PooledSession<S>, { method }: PendingCall): void {
    if (method.kind !== "notify") session.calls++;
  }

  protected override onCallOver(session: PooledSession<S>, { method }: PendingCall, error: RpcError | undefined): void {
    if (method.kind !== "notify") session.onCallOver(error);
  }

  protected sessionOf({ session }: PooledSession<S>): S {
    return session;
  }

  protected get heals(): boolean {
    return !this.isClosed;
  }

  protected get isOneProcess(): boolean {
    return false;
  }

  protected onSuspended(count: number): void {
    this.resuming = count;
    if (this.state.status !== "closed") this.set(this.state);
  }

  protected lastError(): Error | undefined {
    return this.known.find(({ error }) => error !== undefined)?.error ?? this.discovery?.error;
  }

  protected beforeWait(): void {
    if (this.isClosed) throw closedError(undefined);
    const { refusal } = this;
    if (refusal !== undefined) throw notReady(refusal);
    this.startTargets();
  }

  private startTargets(): void {
    if (this.state.status !== "idle") return;
    this.watched.set({ status: "connecting", failures: 0 });
    this.discovery?.start();
    this.dial();
  }

  private get isClosed(): boolean {
    return this.state.status === "draining" || this.state.status === "closed";
  }

  private get ejected(): number {
    return this.known.filter(({ ejectedUntil }) => ejectedUntil !== undefined).length;
  }

  /** Reason why calls must not wait, because no retry can help. Undefined if they may wait. */
  private get refusal(): Error | undefined {
    const [first] = this.known;
    if (first !== undefined)
      return this.known.every(({ refusal }) => refusal !== undefined) ? first.refusal : undefined;
    const error = this.discovery?.error;
    return error !== undefined && this.isPermanent(error) ? error : undefined;
  }

  private setTargets(specs: readonly Required<TargetSpec>[]): void {
    const before = new Map(this.known.map((entry) => [entry.target, entry]));
    this.setKnown(specs, before);
    for (const target of this.known) if (before.get(target.target) === target) before.delete(target.target);
    for (const removed of before.values()) {
      this.leaving.add(removed);
      void removed.drain().then(({ unacknowledged }) => {
        if (this.leaving.delete(removed)) this.unacknowledged += unacknowledged;
      });
    }
    this.dialled = Number.NEGATIVE_INFINITY;
    this.update();
  }

  private setKnown(specs: readonly Required<TargetSpec>[], before: ReadonlyMap<string, TargetSessions<S>>): void {
    const tiers = tiersOf(specs, this.subset?.ranks(specs));
    this.known = specs.map((spec, index) => this.targetOf(spec, tiers[index] ?? 0, before.get(spec.target)));
    this.peer = namesOf(specs);
  }

  private targetOf(
    { target, priority, weight }: Required<TargetSpec>,
    tier: number,
    before: TargetSessions<S> | undefined,
  ): TargetSessions<S> {
    // A target in use that is no longer among the preferred ones of the subset is not kept.
    const keeps = before !== undefined && (this.subset === undefined || before.idle || tier <= this.dialled);
    const sessions = keeps ? before : new TargetSessions(target, this.targetOptions);
    return Object.assign(sessions, { priority, weight, tier });
  }

  /** Dials the targets of the first tier. Dials each further tier if all targets of earlier tiers are failing. */
  private dial(): void {
    const hopeful = this.known.filter(({ failing }) => !failing);
    const tiers = (hopeful.length > 0 ? hopeful : this.known).map(({ tier }) => tier);
    if (tiers.length === 0) return;
    const upTo = hopeful.length > 0 ? Math.min(...tiers) : Math.max(...tiers);
    // Each attempt changes something, and so leads here again.
    if (upTo <= this.dialled) return;
    this.dialled = upTo;
    for (const target of this.known) if (target.tier <= upTo) target.connect();
  }

  /** Updates the pool's state after a target or the list of targets has changed. */
  private update(): void {
    if (this.isClosed) return;
    this.dial();
    const usable = this.known.filter((target) => target.pick() !== undefined);
    const ready = usable.filter(({ ejectedUntil }) => ejectedUntil === undefined);
    // A target whose calls fail is better than none.
    this.candidates = firstTier(ready.length > 0 ? ready : usable);
    const hasFailed = this.known.some(({ error }) => error !== undefined);
    if (hasFailed) this.discovery?.resolveSoon();
    if (this.candidates.length > 0) {
      if (this.state.status !== "ready") this.set({ status: "ready" });
      this.startWaiting();
      return;
    }
    this.set(this.connecting());
    const { refusal } = this;
    if (refusal !== undefined) this.failWaiting(() => notReady(refusal));
  }

  /** Returns the state of a pool without a target that can take calls. */
  private connecting(): ConnectionState {
    const states = this.known.flatMap((target) => target.states).filter(({ status }) => status !== "idle");
    const error = this.lastError();
    const failures = Math.min(...states.map((state) => (state.status === "connecting" ? state.failures : 0)));
    const retries = states.map((state) => (state.status === "connecting" ? state.retryAt : undefined));
    const waits = retries.filter((at) => at !== undefined);
    return {
      status: "connecting",
      failures: states.length === 0 ? 0 : failures,
      ...(error !== undefined && { error }),
      ...(waits.length > 0 && waits.length === retries.length && { retryAt: Math.min(...waits) }),
    };
  }

  private set(state: ConnectionState): void {
    this.watched.set(withResuming(state, this.resuming));
  }

  private async finish(end: (target: TargetSessions<S>) => Promise<Unacknowledged>): Promise<Unacknowledged> {
    if (this.state.status !== "closed") {
      this.discovery?.stop();
      this.candidates = [];
      this.set({ status: "draining" });
      this.failWaiting(() => closedError(undefined));
    }
    // Read before waiting, because targets that are removed meanwhile add to this number and are counted below.
    const { unacknowledged: before } = this;
    const { unacknowledged } = await totalOf([...this.known, ...this.leaving].map(end));
    if (this.state.status === "draining") this.watched.set({ status: "closed" }, true);
    this.end.resolve();
    return { unacknowledged: before + unacknowledged };
  }
}

/** Maximum number of targets that the error of a waiting call names. */
const MAX_NAMES = 3;

/** Returns the names of several targets for error messages, without secret parts of their URLs. */
function namesOf(specs: readonly Required<TargetSpec>[]): string | undefined {
  if (specs.length === 0) return undefined;
  const names = specs
    .slice(0, MAX_NAMES)
    .map(({ target }) => (URL.canParse(target) ? publicUrl(new URL(target)) : target));
  const more = specs.length - names.length;
  return names.join(", ") + (more === 0 ? "" : ` and ${more} more`);
}

/**
 * Returns the tier of each target. Tiers are ordered by priority, and within a priority by the target's rank in the
 * subset.
 */
function tiersOf(
  specs: readonly Required<TargetSpec>[],
  places: ReadonlyMap<string, number> | undefined,
): readonly number[] {
  const placeOf = (spec: Required<TargetSpec>): number => places?.get(spec.target) ?? 0;
  const inOrder = specs.toSorted((a, b) => a.priority - b.priority || placeOf(a) - placeOf(b));
  const tiers = new Map<string, number>();
  let tier = 0;
  inOrder.forEach((spec, index) => {
    const before = inOrder[index - 1];
    if (before !== undefined && (before.priority !== spec.priority || placeOf(before) !== placeOf(spec))) tier++;
    tiers.set(spec.target, tier);
  });
  return specs.map(({ target }) => tiers.get(target) as number);
}

function firstTier<T extends { readonly tier: number }>(targets: readonly T[]): readonly T[] {
  const first = Math.min(...targets.map(({ tier }) => tier));
  return targets.filter(({ tier }) => tier === first);
}
