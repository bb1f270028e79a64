import type { Session } from "@quicrpc/core";
import { SessionLink, type SessionLinkOptions } from "@quicrpc/core/internal";
import { type HealthCheck, HealthWatch } from "./health-watch.js";

/** A session of a pool: counts the calls in progress, and tells what each came to. */
export class PooledSession<S extends Session> {
  readonly session: S;
  /** Calls in progress; notifications are over at once. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver called for each call that is over: with its error, or undefined when it went well */
  constructor(session: S, onOver: (error: unknown) => void) {
    this.session = session;
    this.onOver = onOver;
  }

  onCallOver(error: unknown): void {
    this.calls--;
    this.onOver(error);
  }
}

/** Options of a slot. */
export interface SlotOptions<S extends Session> extends SessionLinkOptions<S> {
  readonly health: HealthCheck | undefined;
  /** Called for each call that is over on the session that takes calls. */
  readonly onCallOver: (error: unknown) => void;
}

/** One of a target's sessions: the link that replaces it, whether it is able to serve, and its calls. */
export class Slot<S extends Session> {
  readonly link: SessionLink<S>;
  /** The session that there is, whether or not it is able to serve. */
  current: PooledSession<S> | undefined = undefined;
  private readonly options: SlotOptions<S>;
  /** Undefined as long as the peer has not said. */
  private able: boolean | undefined = undefined;
  private watch: HealthWatch | undefined = undefined;

  constructor(options: SlotOptions<S>) {
    this.options = options;
    this.link = new SessionLink({ ...options, onChange: () => this.watchSession() });
  }

  /** The session for calls, if there is one. */
  get ready(): PooledSession<S> | undefined {
    const { current } = this;
    // It may have begun to drain or ended a moment ago.
    return this.able === true && current?.session.takesCalls === true ? current : undefined;
  }

  /** True if the target was tried and cannot be used now: there is no session, or its peer is unhealthy. */
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
