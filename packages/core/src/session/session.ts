import { BulkMethods } from "../call/bulk.js";
import type { Caller, DuplexStream } from "../call/caller.js";
import type { Carrier, CarrierSettings } from "../call/carrier.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import { Lane, type LaneOwner } from "../call/lane.js";
import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/schemas.js";
import {
  type Invocation,
  invokeClientStream,
  invokeDuplex,
  invokeNotify,
  invokeServerStream,
  invokeUnary,
} from "../client/invoke.js";
import type { AnyMethod, MethodDescriptor, Via } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { ProtocolError, RpcError } from "../errors.js";
import { guarded } from "../guarded.js";
import { completeLimits, type Limits } from "../limits.js";
import { Admission } from "../server/admission.js";
import { Dispatcher, type ErrorHook } from "../server/dispatch.js";
import { MethodTable } from "../server/router.js";
import { lostCall, neverSent, SessionCode } from "../transport/close-codes.js";
import type { CloseInfo, DirectSession, DirectStream, SoleStream, TransportSession } from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import { carrierSettings } from "./carrier-settings.js";
import { DatagramCalls } from "./datagram-calls.js";
import { Drain } from "./drain.js";
import { KeepAlive, type KeepAliveOptions } from "./keep-alive.js";
import { LaneSpread } from "./lane-spread.js";
import { LANES, LayoutChooser } from "./layout.js";
import type { DrainOptions, SessionEnd, SessionOptions } from "./options.js";
import { OwnStreams } from "./own-streams.js";
import { PeerStreams } from "./peer-streams.js";
import { Pings } from "./pings.js";

/** Calls over one transport session; both sides may call and serve. */
export interface Session<Transport extends TransportSession = TransportSession> extends Caller {
  /** What the session runs over. */
  readonly transport: Transport;
  /** Resolves when the session has ended, whichever way. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /**
   * Ends the session: calls in progress fail with `unavailable`. With code 0 (the default), notifications that were sent
   * before have reached the peer, unless it is out of reach for `limits.maxCloseMs`; with another, nobody waits.
   */
  close(info?: CloseInfo): Promise<SessionEnd>;
  /**
   * Ends the session without failing a call: calls in progress go on, new ones of the peer are refused with `unavailable`, and
   * new ones of this side too, but for those that a handler still makes. Closes with code 0 when all are over, or with
   * `SessionCode.DrainTimeout` when `timeoutMs` (default: `limits.maxDrainMs`) are.
   */
  drain(options?: DrainOptions): Promise<SessionEnd>;
  /** Fulfils when either side has begun to drain the session: new calls belong on another. */
  readonly draining: Promise<void>;
  /** Measures the round-trip time, in milliseconds. Rejects with `unavailable` when the session ends before. */
  ping(): Promise<number>;
  /** The round-trip time that the last ping measured, in milliseconds; undefined before the first. */
  readonly rttMs: number | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Runs the protocol over a transport session. */
export function createSession<Context = unknown, Transport extends TransportSession = TransportSession>(
  transport: Transport,
  options: SessionOptions<Context> = {},
): Session<Transport> {
  return new RpcSession(transport, options);
}

class RpcSession<Context, Transport extends TransportSession> implements Session<Transport> {
  readonly closed: Promise<SessionEnd>;
  readonly transport: Transport;
  private readonly direct: DirectSession;
  private readonly limits: Limits;
  private readonly settings: CarrierSettings;
  private readonly schemas: SchemaHandshake = new SchemaHandshake();
  private readonly bulk: BulkMethods = new BulkMethods();
  private readonly datagrams: DatagramCalls;
  private readonly via: Via;
  /** Undefined where nothing is measured: then all share one lane. */
  private readonly layouts: LayoutChooser | undefined;
  private readonly spread: LaneSpread;
  private readonly dispatcher: Dispatcher<Context>;
  private readonly admission: Admission;
  private readonly drainage: Drain;
  private readonly pings: Pings = new Pings();
  private readonly owner: LaneOwner;
  private readonly keepAlive: KeepAlive | undefined;
  private readonly ownStreams: OwnStreams;
  private readonly peerStreams: PeerStreams;
  private handshake: ReturnType<typeof setTimeout> | undefined;
  private readonly pickLane = (): Carrier => this.lane();
  private readonly pickStream = (): Carrier => {
    if (this.direct.sole !== undefined) return this.lane();
    return this.ownStreams.open();
  };
  private readonly pickByLayout = (): Carrier => {
    const layout = this.layouts?.next();
    if (layout === "stream") return this.pickStream();
    return (layout === "lanes" && this.spread.next()) || this.lane();
  };
  private readonly pickNotifyStream = (): Carrier =>
    this.direct.sole === undefined ? this.ownStreams.openForNotify() : this.lane();
  private ourLane: Lane | undefined;
  private ended = false;
  /** What calls fail with after the session was lost. */
  private lost: RpcError | undefined;

  constructor(transport: Transport, options: SessionOptions<Context>) {
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = completeLimits(options.limits);
    this.settings = carrierSettings(options, this.limits);
    this.via = options.via ?? "auto";
    this.drainage = new Drain({
      callsMade: () => this.callsMade(),
      callsServed: () => this.admission.calls,
      goaway: (stage) => this.openLane()?.goaway(stage),
      onDrained: () => void this.close(),
    });
    this.admission = new Admission({
      limits: this.limits,
      loadShedder: options.loadShedder,
      isRefusing: () => this.drainage.refusing,
      onIdle: () => this.drainage.check(),
    });
    this.dispatcher = new Dispatcher<Context>({
      table: MethodTable.of(options.routers ?? []),
      connection: options.connection as Context,
      session: this,
      limits: this.limits,
      schemas: this.schemas,
      compression: this.settings.compression,
      onError: guarded(options.onError ?? logError),
      admission: this.admission,
    });
    this.datagrams = new DatagramCalls(
      this.direct.datagrams,
      this.settings,
      this.dispatcher,
      options.onForeignDatagram && guarded(options.onForeignDatagram),
    );
    this.ownStreams = new OwnStreams(
      () => this.openStream(),
      this.settings,
      () => this.drainage.check(),
    );
    this.peerStreams = new PeerStreams({
      dispatcher: this.dispatcher,
      settings: this.settings,
      maxStreams: this.limits.maxStreams,
      laneOwner: (onOver) => this.laneOwner(onOver),
      onForeign: options.onForeignStream && guarded(options.onForeignStream),
    });
    this.spread = new LaneSpread(LANES - 1, (onOver) => this.openLaneFor(this.laneOwner(onOver)));
    this.layouts = this.layoutChooser();
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.owner = this.laneOwner((lane) => {
      if (this.ourLane !== lane) return;
      // A session of one lane has no other.
      if (this.direct.sole === undefined) this.ourLane = undefined;
      this.pings.fail("the lane has ended");
    });
    this.direct.attach({
      onStream: (stream) => this.peerStreams.accept(stream),
      onDatagram: (bytes) => this.datagrams.onDatagram(bytes),
      onClosed: ({ closeCode = 0, reason = "" }, error) => {
        this.ended = true;
        if (error !== undefined) this.lost = lostCall(error);
        this.keepAlive?.stop();
        clearTimeout(this.handshake);
        resolve({ closeCode, reason, error });
      },
    });
    if (this.direct.sole !== undefined) this.keepAlive = this.begin(this.direct.sole, options.keepAlive);
    // Its hello tells the peer what this side reads.
    else if (options.compression !== undefined) this.openLane();
  }

  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result> {
    return invokeUnary(this.invocation(method, options, "lane"), input) as Promise<Result>;
  }

  async notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void> {
    const invocation = this.invocation(method, options, "lane");
    if (method.delivery === "datagram" && options?.via === undefined) {
      this.requireOpen();
      if (this.drainage.objection !== undefined) refuse(this.drainage.objection);
      if (this.datagrams.notify(invocation, input)) return;
    }
    const ownStream = invocation.pick === this.pickStream;
    invokeNotify(ownStream ? { ...invocation, pick: this.pickNotifyStream } : invocation, input);
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result> {
    return invokeServerStream(this.invocation(method, options, "stream"), input) as ItemStream<Result>;
  }

  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result> {
    return invokeClientStream(this.invocation(method, options, "stream"), source) as Promise<Result>;
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result> {
    return invokeDuplex(this.invocation(method, options, "stream")) as DuplexStream<Sent, Result>;
  }

  async close(info: CloseInfo = {}): Promise<SessionEnd> {
    if (this.direct.sole !== undefined) this.ourLane?.channel.flushNow();
    else if ((info.closeCode ?? 0) === 0) await this.delivered();
    this.ended = true;
    this.direct.close(info);
    return this.closed;
  }

  async drain({ timeoutMs = this.limits.maxDrainMs }: DrainOptions = {}): Promise<SessionEnd> {
    const expire = (): void =>
      void this.close({ closeCode: SessionCode.DrainTimeout, reason: "the drain took too long" });
    const timer = setTimeout(expire, Math.min(timeoutMs, this.limits.maxTimeoutMs));
    this.drainage.start();
    const end = await this.closed;
    clearTimeout(timer);
    return end;
  }

  get draining(): Promise<void> {
    return this.drainage.begun;
  }

  async ping(): Promise<number> {
    const lane = this.lane();
    return this.pings.ping((token) => lane.ping(token));
  }

  get rttMs(): number | undefined {
    return this.pings.rttMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private invocation(method: AnyMethod, options: CallOptions | undefined, usual: "lane" | "stream"): Invocation {
    const { objection } = this.drainage;
    const prioritized = (options?.priority ?? method.priority) !== undefined;
    const via = options?.via ?? method.via ?? (prioritized ? "stream" : this.via);
    const pick = this.pickOf(via, usual, method);
    return {
      pick: objection === undefined ? pick : () => refuse(objection),
      method,
      options,
      limits: this.limits,
      schemas: this.schemas,
      bulk: this.bulk,
    };
  }

  private pickOf(via: Via, usual: "lane" | "stream", method: AnyMethod): () => Carrier {
    if (via === "stream" || (via === "auto" && usual === "stream")) return this.pickStream;
    if (via === "lane" || method.kind === "notify") return this.pickLane;
    if (this.bulk.has(method)) return this.pickStream;
    return this.layouts === undefined ? this.pickLane : this.pickByLayout;
  }

  /** Takes no more calls, and resolves when the peer has received what was sent. */
  private delivered(): Promise<void> {
    const lane = this.ourLane;
    const open = !this.ended;
    this.ended = true;
    if (!open || (lane === undefined && this.ownStreams.confirmed)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.limits.maxCloseMs);
      let laneDone = lane === undefined;
      const check = (): void => {
        if (!laneDone || !this.ownStreams.confirmed) return;
        clearTimeout(timer);
        resolve();
      };
      this.ownStreams.onConfirmed = check;
      lane?.finish(() => {
        laneDone = true;
        check();
      });
    });
  }

  private requireOpen(): void {
    if (this.ended) throw neverSent(this.lost);
  }

  private lane(): Lane {
    this.requireOpen();
    if (this.ourLane === undefined || (this.ourLane.spent && this.direct.sole === undefined)) {
      this.ourLane = this.openLaneFor(this.owner);
    }
    return this.ourLane;
  }

  private openLaneFor(owner: LaneOwner): Lane {
    return Lane.open(this.openStream(), this.dispatcher, this.settings, owner);
  }

  private callsMade(): number {
    return this.ownStreams.made + (this.ourLane?.callsMade ?? 0) + this.spread.callsMade;
  }

  private layoutChooser(): LayoutChooser | undefined {
    const { direct } = this;
    const stats = direct.sole === undefined ? direct.stats?.bind(direct) : undefined;
    if (stats === undefined) return undefined;
    return new LayoutChooser({
      stats,
      callsMade: () => this.callsMade(),
      bytesSent: () => this.settings.traffic.sentBytes,
    });
  }

  /** The lane, for what concerns the session; undefined when the session has ended. */
  private openLane(): Lane | undefined {
    try {
      return this.lane();
    } catch {
      return undefined;
    }
  }

  /** A session of one byte stream is its lane. */
  private begin(sole: SoleStream, keepAlive: KeepAliveOptions | false = {}): KeepAlive | undefined {
    if (this.ended) return undefined;
    const { maxHandshakeMs } = this.limits;
    this.handshake = setTimeout(
      () => sole.lose(new Error(`no hello within ${maxHandshakeMs} ms (limits.maxHandshakeMs)`)),
      maxHandshakeMs,
    );
    const lane = Lane.sole(sole, this.dispatcher, this.settings, this.owner);
    this.ourLane = lane;
    if (keepAlive === false) return undefined;
    const probe = (): void => this.pings.probe((token) => lane.ping(token));
    return new KeepAlive(lane.channel, keepAlive, probe, (error) => sole.lose(error));
  }

  private laneOwner(onOver: (lane: Lane) => void): LaneOwner {
    return {
      onOver,
      onIdle: () => this.drainage.check(),
      onHello: () => clearTimeout(this.handshake),
      onGoaway: (stage) => this.drainage.onGoaway(stage),
      onPong: (token) => this.pings.onPong(token),
      onClose: (info) => {
        if (this.direct.sole === undefined) throw new ProtocolError("a close frame on one of several streams");
        this.direct.sole.closedByPeer(info);
      },
    };
  }

  private openStream(): DirectStream {
    this.requireOpen();
    try {
      return this.direct.openStream();
    } catch (error) {
      throw RpcError.from(error, "unavailable");
    }
  }
}

function refuse(why: string): never {
  throw new RpcError("unavailable", why, { refused: true });
}

// oxlint-disable-next-line no-console -- the default of an option; a crash in a handler must not pass unseen
const logError: ErrorHook = (error, { method }) => console.error(`quicrpc: ${method} failed:`, error);
