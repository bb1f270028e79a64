import { atMost } from "../call/expiries.js";
import { type AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { CallPlaces } from "../call/call-places.js";
import { type Callee, type Carrier, type CarrierSettings, prioritize } from "../call/carrier.js";
import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import type { Calling, CallingHost } from "../client/calling.js";
import type { AnyMethod, Via } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { ReservedMethods } from "../server/router.js";
import { lostCall, neverSent, turnedAway } from "../transport/close-codes.js";
import type {
  CloseInfo,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  TransportSession,
} from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import type { Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import { writeMisfitNotice } from "../wire/misfit-notice.js";
import type { Drain } from "../call/lanes/drain.js";
import type { ClosedSession, CloseOptions, SessionEnd } from "./options.js";
import type { SessionParts } from "./parts.js";
import type { StreamTaker } from "./peer-streams.js";
import type { ClientSession } from "./session.js";
import { OutgoingCallStream, type StreamOpener } from "../call/outgoing-stream.js";

/** Nothing is served. */
const UNSERVED: Callee = { calls: 0 };

/** A session that makes each call on a stream of its own; `LaneSession` adds the lanes that calls share. */
export class StreamSession<Transport extends TransportSession>
  extends BaseCaller
  implements ClientSession<Transport>, CallingHost
{
  readonly closed: Promise<SessionEnd>;
  readonly transport: Transport;
  readonly direct: DirectSession;
  readonly limits: ClientLimits;
  readonly settings: CarrierSettings;
  readonly budget: MemoryBudget;
  callee: Callee;
  reserved: ReservedMethods | undefined = undefined;
  drainage: Drain | undefined = undefined;
  readonly peer: string | undefined;
  readonly ownStreams: OwnStreams = new OwnStreams(this);
  places: CallPlaces | undefined = undefined;
  /** The peer's limit of concurrent calls, if it has announced it. */
  peerCalls: number = Number.POSITIVE_INFINITY;
  protected ended = false;
  readonly schemas: SchemaHandshake = new SchemaHandshake();
  /** The lane on which the peer said that it goes away. */
  #leavingOn: PeerLane | undefined = undefined;
  readonly onForeign: SessionParts["onForeign"];
  readonly explain: SessionParts["explain"];
  readonly #events: DirectSessionHandler;
  readonly #streams: StreamTaker;
  readonly #onEnd: (end: SessionEnd) => void;
  /** Created on first use, together with its resolver. */
  #draining: Promise<void> | undefined = undefined;
  #drains: (() => void) | undefined = undefined;
  /** The peer has closed the session with code 0: after a drain, it has all that was sent. */
  protected parted = false;
  /** Resolves when the peer has the notifications that were sent before a close, or never will. */
  #delivery: Promise<void> | undefined = undefined;
  /** Error of calls after the session was lost. */
  #lost: RpcError | undefined = undefined;

  constructor(transport: Transport, { settings, callee, onForeign, events, explain, peer, peerStreams }: SessionParts) {
    super();
    this.explain = explain;
    this.peer = peer;
    this.#streams = peerStreams(this);
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = settings.limits;
    this.settings = settings;
    this.budget = settings.budget;
    this.onForeign = onForeign;
    this.callee = callee?.(this) ?? UNSERVED;
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.#onEnd = resolve;
    this.#events = events?.(this) ?? this;
  }

  get draining(): Promise<void> {
    if (this.#draining === undefined) {
      const { promise, resolve } = deferred<void>();
      this.#draining = promise;
      this.#drains = resolve;
      if (this.drainage !== undefined) resolve();
    }
    return this.#draining;
  }

  onDraining(): void {
    this.#drains?.();
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    const call = (method.calling as Calling).create(method, options, input);
    call.start(this, input, options);
    return call.answer;
  }

  carrierFor(method: AnyMethod, options: CallOptions | undefined): Carrier {
    this.#requireCalls();
    const priority = options?.priority ?? method.priority;
    const carrier = this.pick(method, options?.via ?? method.via ?? (priority === undefined ? undefined : "stream"));
    if (priority !== undefined) prioritize(carrier, priority);
    return carrier;
  }

  datagramsForCalls(): TransportSession["datagrams"] {
    this.requireOpen();
    this.#requireCalls();
    return this.transport.datagrams;
  }

  unreadable(method: AnyMethod, error: unknown): RpcError {
    const failure = this.schemas.unreadable(method, error);
    const { code, message } = failure;
    const misfits = code === "internal" || code === "failed_precondition";
    if (misfits && this.schemas.isFirstUnreadable(method)) this.#tellMisfit(method, message);
    return failure;
  }

  get unacknowledged(): number {
    return this.ownStreams.unacknowledged + this.unacknowledgedOnLanes();
  }

  async close({ timeoutMs = this.limits.maxAcknowledgeMs, ...info }: CloseOptions = {}): Promise<ClosedSession> {
    if ((info.closeCode ?? 0) === 0) await this.#delivered(timeoutMs);
    this.ended = true;
    this.beforeClose?.();
    this.direct.close(info);
    const { closeCode, reason, error } = await this.closed;
    return { closeCode, reason, error, unacknowledged: this.unacknowledged };
  }

  get takesCalls(): boolean {
    return !this.ended && this.drainage?.objection === undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Returns the carrier for a call; honours an explicit `via`. */
  protected pick({ kind }: AnyMethod, _via: Via | undefined): Carrier {
    return kind === "notify" ? this.notifier() : this.ownStreams.open();
  }

  /** Returns what carries a notification. Throws `RpcError` when nothing can. */
  protected notifier(): Carrier {
    return this.ownStreams.openForNotify();
  }

  /** Tells the peer that this side goes away, as far as the session lasts. */
  goaway(stage: number): void {
    this.#leavingOn?.goaway(stage);
  }

  onDrained(): void {
    void this.close();
  }

  onIdle(): void {
    this.drainage?.check();
  }

  onGoaway(_stage: number, lane: PeerLane, _frame: Frame): void {
    this.#leavingOn = lane;
  }

  /** Calls that are not over. */
  callsMade(): number {
    return this.ownStreams.made;
  }

  /** Ends the lanes on which this side sends notifications. Calls `onFinished` when the peer has received all of them. */
  protected finishLanes(onFinished: () => void): void {
    onFinished();
  }

  /** Notifications on the lanes of this side that the peer is not known to have received. */
  protected unacknowledgedOnLanes(): number {
    return 0;
  }

  /** Sends what still waits. */
  protected beforeClose?(): void;

  /** Starts the session. Must be called once, right after its creation, because the peer may already have opened streams. */
  open(): this {
    if (this.direct.sole !== undefined) throw new TypeError("a session of one byte stream is made by createSession");
    this.attach();
    return this;
  }

  protected attach(): void {
    this.direct.attach(this.#events);
  }

  onStream(stream: DirectStream): void {
    this.#streams.accept(stream);
  }

  waits(): boolean {
    return this.callsMade() > 0;
  }

  onClosed({ closeCode = 0, reason = "" }: CloseInfo, error: Error | undefined): void {
    this.parted = !this.ended && error === undefined;
    this.ended = true;
    this.stopRenewals?.();
    if (error !== undefined) this.#lost = lostCall(error);
    this.#onEnd({ closeCode, reason, error });
  }

  protected stopRenewals?(): void;

  protected requireOpen(): void {
    if (this.ended) throw neverSent(this.#lost);
  }

  openStream(): DirectStream {
    this.requireOpen();
    try {
      return this.direct.openStream();
    } catch (error) {
      throw RpcError.from(error, "unavailable");
    }
  }

  #requireCalls(): void {
    const objection = this.drainage?.objection;
    if (objection !== undefined) throw turnedAway(objection);
  }

  /** Tells the callee that an answer does not fit its schema, as far as the session takes notifications. */
  #tellMisfit({ id, service }: AnyMethod, reason: string): void {
    try {
      const { channel, notifyId, single } = this.notifier();
      channel.whenIdle(() => {
        const notice = { methodId: id, reason };
        channel.frame(FrameType.Notify, notifyId, (out) => writeMisfitNotice(out, service.id, notice), single);
      });
    } catch {
      // The session has ended.
    }
  }

  /**
   * Refuses new calls, and resolves when the peer has received the notifications that were sent, or after `timeoutMs`.
   */
  async #delivered(timeoutMs: number): Promise<void> {
    const first = !this.ended;
    this.ended = true;
    if (first && this.unacknowledged > 0) this.#delivery = this.#finishNotifications();
    if (this.#delivery === undefined) return;
    await atMost(Math.min(timeoutMs, this.limits.maxTimeoutMs), this.#delivery);
  }

  #finishNotifications(): Promise<void> {
    return new Promise((resolve) => {
      let lanesDone = false;
      const check = (): void => {
        if (lanesDone && this.ownStreams.confirmed) resolve();
      };
      this.ownStreams.onConfirmed = check;
      this.finishLanes(() => {
        lanesDone = true;
        check();
      });
    });
  }
}

/** The streams that this side opens for one call each. */
export class OwnStreams implements StreamOpener {
  /** Number of streams of this side's calls that are not over. */
  made = 0;
  /** Called when a stream with a notification is over. */
  onConfirmed: (() => void) | undefined = undefined;
  /** Number of streams with notifications that the peer may not have received yet. */
  #unconfirmed = 0;
  /** Number of notifications on streams that ended before the peer had received them. */
  #lost = 0;
  readonly #session: StreamSession<TransportSession>;

  constructor(session: StreamSession<TransportSession>) {
    this.#session = session;
  }

  /** Whether the peer has received every notification that was sent on its own stream. */
  get confirmed(): boolean {
    return this.#unconfirmed === 0;
  }

  /** Number of notifications that the peer may not have received. */
  get unacknowledged(): number {
    return this.#unconfirmed + this.#lost;
  }

  /** Opens the carrier of one call. Throws `RpcError` if no stream can be opened. */
  open(): OutgoingCallStream {
    return this.#carry(false);
  }

  /** Opens the carrier of one notification, which has no response. */
  openForNotify(): OutgoingCallStream {
    const carrier = this.#carry(true);
    this.#unconfirmed++;
    return carrier;
  }

  onOver(notifies: boolean, received: boolean): void {
    if (notifies) {
      this.#unconfirmed--;
      if (!received) this.#lost++;
      this.onConfirmed?.();
    }
    this.made--;
    this.#session.places?.onCallOver();
    this.#session.onIdle();
  }

  #carry(notifies: boolean): OutgoingCallStream {
    const stream = this.#session.openStream();
    this.made++;
    return new OutgoingCallStream(stream, this.#session.settings, this, notifies);
  }
}
