import type { Session } from "@quicrpc/core";
import { SessionLink, type SessionLinkOptions } from "@quicrpc/core/internal";
import { type HealthCheck, HealthWatch } from "./health-watch.js";

/** A session of a pool, which counts its calls in progress and reports their results. */
export class PooledSession<S extends Session> {
  readonly session: S;
  /** Number of calls in progress. Notifications do not count. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver called after each call with its error, or with undefined if it succeeded */
  constructor(session: S, onOver: (error: unknown) => void) {
    this.session = session;
    this.onOver = onOver;
  }

  onCallOver(error: unknown): void {
    this.calls--;
    this.onOver(error);
  }
}

export interface SlotOptions<S extends Session> extends SessionLinkOptions<S> {
  readonly health: HealthCheck | undefined;
  /** Called after each call on the slot's session, with the call's error or undefined. */
  readonly onCallOver: (error: unknown) => void;
}

/** One of the sessions with a target: replaces a lost session, watches the peer's health, and counts the calls. */
export class Slot<S extends Session> {
  readonly link: SessionLink<S>;
  /** Current session. Its peer may be unable to serve. Undefined if there is none. */
  current: PooledSession<S> | undefined = undefined;
  private readonly options: SlotOptions<S>;
  /** Whether the peer is able to serve. Undefined until it has reported that. */
  private able: boolean | undefined = undefined;
  private watch: HealthWatch | undefined = undefined;

  constructor(options: SlotOptions<S>) {
    this.options = options;
    this.link = new SessionLink({ ...options, onChange: () => this.watchSession() });
  }

  /** Session that can take calls. Undefined if there is none. */
  get ready(): PooledSession<S> | undefined {
    const { current } = this;
    // It may have begun to drain or ended a moment ago.
    return this.able === true && current?.session.takesCalls === true ? current : undefined;
  }

  /** True if the slot was dialled but cannot be used now: there is no session, or its peer is unhealthy. */
  get failing(): boolean {
    if (this.current !== undefined) return this.able === false;
    const { state } = this.link;
    return state.status === "connecting" && state.error !== undefined;
  }

  private watchSession(): void {
    const { session } = this.link;
    if (session !== this.current?.session) this.replace(session);
    this.options.onChange();
  }

  private replace(session: S | undefined): void {
    this.watch?.stop();
    this.watch = undefined;
    this.current = undefined;
    if (session === undefined) return;
    const pooled = new PooledSession(session, (error) => {
      if (this.current === pooled) this.options.onCallOver(error);
    });
    this.current = pooled;
    const { health, backoff, onChange } = this.options;
    this.able = health === undefined ? true : undefined;
    if (health === undefined) return;
    this.watch = new HealthWatch(session, health, backoff, (able) => {
      if (this.able === able) return;
      this.able = able;
      onChange();
    });
  }
}
