import * as GoawayStage from "../wire/goaway-stage.js";
import type { Carrier } from "../call/carrier.js";
import { Drain } from "../call/lanes/drain.js";
import { Lane } from "../call/lanes/lane.js";
import type { AnyMethod, Via } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import { SessionCode } from "../transport/close-codes.js";
import type { ClientSide } from "../transport/prover.js";
import type { TransportSession } from "../transport/session.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import { type Departure, readDeparture } from "../wire/departure.js";
import type { Frame } from "../wire/frame.js";
import type { HelloFrame } from "../wire/hello.js";
import type { DemandOptions, ServerRenewal } from "./server-renewal.js";
import { StreamSession } from "./stream-session.js";
import type { BulkLane } from "./bulk-lane.js";
import type { ClosedSession, SessionDrainOptions } from "./options.js";
import type { SessionParts } from "./parts.js";
import type { Session } from "./session.js";
import { deferred, type Deferred } from "../deferred.js";

interface Ping {
  readonly sentAt: number;
  readonly answer: Deferred<number> | undefined;
}

/** The pending pings of a session, and the round-trip time that they measure. */
class Pings {
  /** Round-trip time of the last ping in milliseconds; undefined before the first pong. */
  rttMs: number | undefined = undefined;
  #token = 0;
  #waiting: Map<number, Ping> | undefined = undefined;

  /** Sends a ping on `lane`. `answer` is settled with the round-trip time in milliseconds. */
  send(lane: Lane, answer?: Deferred<number>): void {
    const token = this.#token++;
    (this.#waiting ??= new Map()).set(token, { sentAt: performance.now(), answer });
    lane.ping(token);
  }

  /** Handles a pong. Ignores a pong without a pending ping. */
  onPong(token: number): void {
    const ping = this.#waiting?.get(token);
    if (ping === undefined) return;
    this.#waiting?.delete(token);
    this.rttMs = performance.now() - ping.sentAt;
    ping.answer?.resolve(this.rttMs);
  }

  fail(error: RpcError): void {
    this.#waiting?.forEach(({ answer }) => answer?.reject(error));
    this.#waiting = undefined;
  }
}

/** Limit of concurrent calls that this side assumes until the peer has announced its limit. */
export const ASSUMED_CALLS = 4096;

/**
 * Size in bytes from which a message counts as large. Calls of methods with large messages do not use the shared lane,
 * because other calls would wait for them.
 */
const BULK_BYTES = 64 * 1024;

const NO_LANES: readonly Lane[] = [];

/** A session whose calls share streams (lanes) or have streams of their own. */
export class LaneSession<Transport extends TransportSession>
  extends StreamSession<Transport>
  implements Session<Transport>
{
  /** Second lane for large messages; created for the first call that needs it. */
  #bulkLane: BulkLane | undefined = undefined;
  readonly #newBulkLane: SessionParts["bulkLane"];
  #pings: Pings | undefined = undefined;
  /**
   * Size in bytes of the last call of each method whose last call was large. The next call of such a method does not
   * use the shared lane.
   */
  #bulk: Map<AnyMethod, number> | undefined = undefined;
  readonly #via: Via | undefined;
  readonly #sayDeparture: SessionParts["sayDeparture"];
  readonly #clientSide: ClientSide | undefined;
  readonly #serverRenewal: ServerRenewal | undefined;
  departure: Departure | undefined = undefined;
  protected ourLane: Lane | undefined = undefined;
  /**
   * Lanes (shared streams) that this side has opened. Ended lanes are removed, but not if they ended because the
   * session was closed.
   */
  lanes: readonly Lane[] = NO_LANES;
  /** Number of notifications that the peer had not acknowledged when their lane ended. */
  #lostOnLanes = 0;
  /** Value of `#lostOnLanes` when this side told the peer that all its calls have ended. */
  #lostBeforeParting: number | undefined = undefined;

  constructor(transport: Transport, parts: SessionParts) {
    super(transport, parts);
    this.#newBulkLane = parts.bulkLane;
    this.#via = parts.via;
    this.#sayDeparture = parts.sayDeparture;
    this.#clientSide = parts.clientSide?.(this);
    this.#serverRenewal = parts.serverRenewal?.(this);
  }

  override open(): this {
    super.open();
    // The first frame of a lane, hello, contains the compression algorithms and the credentials.
    if (this.settings.compression !== undefined || this.settings.greeting !== undefined) this.openLane();
    return this;
  }

  async drain(options: SessionDrainOptions = {}): Promise<ClosedSession> {
    const { timeoutMs = this.limits.maxDrainMs } = options;
    // Sent before the goaway frame, on the same lane.
    if (this.drainage?.refusing !== true)
      this.#sayDeparture?.({ ...options, timeoutMs }, () => this.openLane(), this.limits);
    const expire = (): void =>
      void this.close({ closeCode: SessionCode.DrainTimeout, reason: "the drain took too long" });
    const timer = setTimeout(expire, Math.min(timeoutMs, this.limits.maxTimeoutMs));
    Drain.of(this).start();
    const end = await this.closed;
    clearTimeout(timer);
    return { ...end, unacknowledged: this.unacknowledged };
  }

  demandCredentials(options?: DemandOptions): void {
    if (this.#serverRenewal === undefined) void this.drain();
    else this.#serverRenewal.demand(options);
  }

  onHello(lane: PeerLane, hello: HelloFrame): void {
    this.takes(hello.calls ?? Number.POSITIVE_INFINITY);
    if (hello.renews === true) this.#serverRenewal?.onHello(lane, hello);
    this.#clientSide?.onHello?.();
  }

  /** Sets the limit of concurrent calls that the peer has announced. */
  protected takes(calls: number): void {
    if (calls === this.peerCalls) return;
    this.peerCalls = calls;
    this.places?.set(calls);
  }

  get renewal(): ClientSide | ServerRenewal | undefined {
    return this.#serverRenewal ?? this.#clientSide;
  }

  onUnauthenticated(): void {
    this.#clientSide?.onUnauthenticated();
  }

  identify(connection: unknown): void {
    this.callee.identify?.(connection);
  }

  async ping(): Promise<number> {
    const answer = deferred<number>();
    this.pings.send(this.lane(), answer);
    return answer.promise;
  }

  get rttMs(): number | undefined {
    return this.#pings?.rttMs;
  }

  protected get pings(): Pings {
    return (this.#pings ??= new Pings());
  }

  noteSize(method: AnyMethod, bytes: number): void {
    if (bytes >= BULK_BYTES) (this.#bulk ??= new Map()).set(method, bytes);
    else this.#bulk?.delete(method);
  }

  protected override pick(method: AnyMethod, said: Via | undefined): Carrier {
    const via = said ?? this.#via;
    const { kind } = method;
    if (via === "stream") return super.pick(method, via);
    if (via === "lane" || kind === "notify") return this.lane();
    if (kind !== "unary") return super.pick(method, via);
    const bulk = this.#bulk?.get(method);
    if (bulk === undefined) return this.lane();
    this.#bulkLane ??= this.#newBulkLane?.(this);
    return this.#bulkLane?.pick(bulk) ?? super.pick(method, via);
  }

  protected override notifier(): Carrier {
    return this.lane();
  }

  override goaway(stage: number): void {
    if (stage === GoawayStage.Finished) this.#lostBeforeParting = this.#lostOnLanes;
    this.openLane()?.goaway(stage);
  }

  override onGoaway(stage: number, lane: PeerLane, frame: Frame): void {
    if (stage === GoawayStage.Departing) this.departure = readDeparture(frame);
    else super.onGoaway(stage, lane, frame);
  }

  override callsMade(): number {
    let calls = this.ownStreams.made;
    // Includes lanes that accept no more calls.
    for (const lane of this.lanes) calls += lane.callsMade;
    return calls;
  }

  protected override stopRenewals(): void {
    this.#clientSide?.stop();
    this.#serverRenewal?.stop();
  }

  protected override finishLanes(onFinished: () => void): void {
    let waited = 1;
    const onOne = (): void => {
      if (--waited === 0) onFinished();
    };
    for (const lane of this.lanes) {
      if (lane.unacknowledged === 0) continue;
      waited++;
      lane.finish(onOne);
    }
    onOne();
  }

  protected override unacknowledgedOnLanes(): number {
    if (this.parted && this.#lostBeforeParting !== undefined) return this.#lostBeforeParting;
    let sum = this.#lostOnLanes;
    for (const lane of this.lanes) sum += lane.unacknowledged;
    return sum;
  }

  onPong(token: number): void {
    this.#pings?.onPong(token);
  }

  lane(): Lane {
    this.requireOpen();
    if (this.ourLane === undefined || this.ourLane.spent) this.ourLane = this.newLane();
    return this.ourLane;
  }

  /**
   * Opens a lane.
   *
   * @param onOver called when the lane has ended; if omitted, the lane is the session's main lane
   */
  newLane(onOver?: (lane: Lane) => void): Lane {
    if (this.lanes.length === 0) this.takes(ASSUMED_CALLS);
    const lane = new Lane(0, Lane.on(this.openStream(), this.settings), this, (_, error) => {
      if (!this.ended) {
        this.lanes = this.lanes.filter((other) => other !== lane);
        this.#lostOnLanes += lane.unacknowledged;
        this.places?.onCallOver();
      }
      if (onOver === undefined) this.#onLaneOver(lane, error);
      else onOver(lane);
    });
    // `concat`, because V8 allocates room for 16 more entries with a spread.
    this.lanes = this.lanes.concat(lane);
    return lane;
  }

  /** Called when a main lane has ended: the current one, or an earlier one. */
  #onLaneOver(lane: Lane, error: RpcError): void {
    if (this.ourLane !== lane) return;
    this.ourLane = undefined;
    this.#pings?.fail(error);
  }

  /** Returns the main lane, for frames that concern the session; undefined after the session has ended. */
  openLane(): Lane | undefined {
    try {
      return this.lane();
    } catch {
      return undefined;
    }
  }
}
