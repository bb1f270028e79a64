import { settledWithin } from "../call/expiries.js";
import { type AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { CallPlaces } from "../call/call-places.js";
import { type Callee, type Carrier, type CarrierSettings, prioritize } from "../call/carrier.js";
import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import type { Calling, CallingHost } from "../client/calling.js";
import type { AnyMethod, Via } from "../contract/descriptor.js";
import { deferred, type Deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { ReservedMethods } from "../server/router.js";
import { lostCall, neverSent, turnedAway } from "../transport/close-codes.js";
import type { CloseInfo, DirectSession, DirectStream, TransportSession } from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import type { Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import { writeMisfitNotice } from "../wire/misfit-notice.js";
import type { Drain } from "../call/lanes/drain.js";
import type { ClosedSession, CloseOptions, SessionEnd } from "./options.js";
import type { SessionParts } from "./parts.js";
import type { ClientSession } from "./session.js";
import { OutgoingCallStream, type StreamOpener } from "../call/outgoing-stream.js";

const UNSERVED: Callee = { calls: 0 };

/** A session that makes each call on its own stream. The subclass `LaneSession` adds lanes, which calls share. */
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
  /** `passDatagram` if datagrams are served. */
  declare onDatagram?: (bytes: Uint8Array) => void;
  /** Number of open streams that the peer has opened. */
  peerStreams = 0;
  reserved: ReservedMethods | undefined = undefined;
  drainage: Drain | undefined = undefined;
  readonly peer: string | undefined;
  readonly ownStreams: OwnStreams = new OwnStreams(this);
  places: CallPlaces | undefined = undefined;
  /** Limit of concurrent calls that the peer has announced; infinite if it has announced none. */
  peerCalls: number = Number.POSITIVE_INFINITY;
  protected ended = false;
  readonly schemas: SchemaHandshake = new SchemaHandshake();
  /** The lane (shared stream) on which the peer has announced that it is closing the session; undefined before. */
  #leavingOn: PeerLane | undefined = undefined;
  readonly onForeign: SessionParts["onForeign"];
  readonly explain: SessionParts["explain"];
  readonly #acceptStream: SessionParts["acceptStream"];
  readonly #onEnd: (end: SessionEnd) => void;
  /** Promise that resolves when either side starts to drain the session; created on first use. */
  #draining: Deferred<void> | undefined = undefined;
  /** Whether the peer has closed the session with code 0. After a drain, it has then received all data. */
  protected parted = false;
  /**
   * Promise that resolves when the peer has received all notifications that were sent before `close`, or never will.
   */
  #delivery: Promise<void> | undefined = undefined;
  /** Error of calls that are made after the session was lost. */
  #lost: RpcError | undefined = undefined;

  constructor(transport: Transport, { settings, callee, onForeign, explain, peer, acceptStream }: SessionParts) {
    super();
    this.explain = explain;
    this.peer = peer;
    this.#acceptStream = acceptStream;
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = settings.limits;
    this.settings = settings;
    this.budget = settings.budget;
    this.onForeign = onForeign;
    this.callee = callee?.(this) ?? UNSERVED;
    if (this.callee.onDatagram !== undefined) this.onDatagram = passDatagram;
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.#onEnd = resolve;
  }

  onStream(stream: DirectStream): void {
    this.#acceptStream(this, stream);
  }

  get draining(): Promise<void> {
    this.#draining ??= deferred();
    if (this.drainage !== undefined) this.#draining.resolve();
    return this.#draining.promise;
  }

  onDraining(): void {
    this.#draining?.resolve();
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
    return { ...(await this.closed), unacknowledged: this.unacknowledged };
  }

  get takesCalls(): boolean {
    return !this.ended && this.drainage?.objection === undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Returns the lane or stream for a new call; honours an explicit `via`. */
  protected pick({ kind }: AnyMethod, _via: Via | undefined): Carrier {
    return kind === "notify" ? this.notifier() : this.ownStreams.open();
  }

  /** Returns the lane or stream for a notification. Throws `RpcError` if the session has ended. */
  protected notifier(): Carrier {
    return this.ownStreams.openForNotify();
  }

  /** Sends a goaway frame, which announces the end of the session, on the lane on which the peer has sent one. */
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

  callsMade(): number {
    return this.ownStreams.made;
  }

  /**
   * Ends the lanes with unacknowledged notifications. Calls `onFinished` when the peer has received all of them, or
   * never will.
   */
  protected finishLanes(onFinished: () => void): void {
    onFinished();
  }

  protected unacknowledgedOnLanes(): number {
    return 0;
  }

  /** Sends buffered data before the session is closed. */
  protected beforeClose?(): void;

  /**
   * Starts the session. Must be called once, directly after its creation, because the peer may already have opened
   * streams.
   */
  open(): this {
    if (this.direct.sole !== undefined) throw new TypeError("a session of one byte stream is made by createSession");
    this.attach();
    return this;
  }

  protected attach(): void {
    this.direct.attach(this);
  }

  waits(): boolean {
    return this.callsMade() > 0;
  }

  onClosed({ closeCode = 0, reason = "" }: CloseInfo, error: Error | undefined): void {
    this.parted = !this.ended && error === undefined;
    this.ended = true;
    this.stopRenewals?.();
    if (error !== undefined) this.#lost = lostCall(error);
    this.callee.onClosed?.();
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

  /** Reports to the callee that a response does not match its schema. Does nothing if the session has ended. */
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

  /** Refuses new calls. Resolves when the peer has received all notifications, or after `timeoutMs` milliseconds. */
  async #delivered(timeoutMs: number): Promise<void> {
    const first = !this.ended;
    this.ended = true;
    if (first && this.unacknowledged > 0) this.#delivery = this.#finishNotifications();
    if (this.#delivery === undefined) return;
    await settledWithin(Math.min(timeoutMs, this.limits.maxTimeoutMs), this.#delivery);
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

/** Opens and counts the streams that carry a single call of this side. */
export class OwnStreams implements StreamOpener {
  /** Number of open streams of this side's calls. */
  made = 0;
  /** Called when the stream of a notification has ended. */
  onConfirmed: (() => void) | undefined = undefined;
  /** Number of notification streams whose data the peer has not acknowledged yet. */
  #unconfirmed = 0;
  /** Number of notifications whose streams ended before the peer acknowledged them. */
  #lost = 0;
  readonly #session: StreamSession<TransportSession>;

  constructor(session: StreamSession<TransportSession>) {
    this.#session = session;
  }

  get confirmed(): boolean {
    return this.#unconfirmed === 0;
  }

  get unacknowledged(): number {
    return this.#unconfirmed + this.#lost;
  }

  /** Opens a stream for one call. Throws `RpcError` if no stream can be opened. */
  open(): OutgoingCallStream {
    return this.#carry(false);
  }

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

function passDatagram(this: StreamSession<TransportSession>, bytes: Uint8Array): void {
  this.callee.onDatagram?.(bytes);
}
