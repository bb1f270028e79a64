import { BulkMethods } from "../call/bulk.js";
import type { DuplexStream } from "../call/caller.js";
import type { Callee, Carrier, CarrierSettings } from "../call/carrier.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import { Lane, type LaneOwner } from "../call/lane.js";
import type { CallOptions } from "../call/options.js";
import { SchemaHandshake } from "../call/schemas.js";
import { callingOf } from "../client/calling.js";
import type { Invocation } from "../client/invoke.js";
import type { AnyMethod, MethodDescriptor, Via } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { lostCall, neverSent, SessionCode } from "../transport/close-codes.js";
import type { CloseInfo, DirectSession, DirectStream, SoleStream, TransportSession } from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import { Drain } from "./drain.js";
import type { Layouts } from "./layouts.js";
import type { DrainOptions, SessionEnd } from "./options.js";
import { OwnStreams } from "./own-streams.js";
import type { SessionParts } from "./parts.js";
import { PeerStreams } from "./peer-streams.js";
import { Pings } from "./pings.js";
import type { Session } from "./session.js";
import type { SoleLane } from "./sole-lane.js";

/** The side that calls, and what both sides share; what it is made of beside comes as its parts. */
export class RpcSession<Transport extends TransportSession> implements Session<Transport> {
  readonly closed: Promise<SessionEnd>;
  readonly transport: Transport;
  private readonly direct: DirectSession;
  private readonly limits: Limits;
  private readonly settings: CarrierSettings;
  private readonly schemas: SchemaHandshake = new SchemaHandshake();
  private readonly bulk: BulkMethods = new BulkMethods();
  private readonly via: Via;
  private readonly layouts: Layouts | undefined;
  private readonly callee: Callee;
  private readonly drainage: Drain;
  private readonly pings: Pings = new Pings();
  private readonly owner: LaneOwner;
  private readonly ownStreams: OwnStreams;
  private readonly sole: SoleLane | undefined;
  private readonly pickLane = (): Carrier => this.lane();
  private readonly pickStream = (): Carrier => {
    if (this.direct.sole !== undefined) return this.lane();
    return this.ownStreams.open();
  };
  private readonly pickByLayout: () => Carrier;
  private readonly pickNotifyStream = (): Carrier =>
    this.direct.sole === undefined ? this.ownStreams.openForNotify() : this.lane();
  private ourLane: Lane | undefined;
  private ended = false;
  /** What calls fail with after the session was lost. */
  private lost: RpcError | undefined;

  constructor(transport: Transport, { settings, via = "auto", ...parts }: SessionParts) {
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = settings.limits;
    this.settings = settings;
    this.via = via;
    this.drainage = new Drain({
      callsMade: () => this.callsMade(),
      callsServed: () => this.callee.calls,
      goaway: (stage) => this.openLane()?.goaway(stage),
      onDrained: () => void this.close(),
    });
    this.callee = parts.callee({
      session: this,
      limits: this.limits,
      schemas: this.schemas,
      isRefusing: () => this.drainage.refusing,
      onIdle: () => this.drainage.check(),
    });
    this.ownStreams = new OwnStreams(
      () => this.openStream(),
      this.settings,
      () => this.drainage.check(),
    );
    const peerStreams = new PeerStreams({
      callee: this.callee,
      settings,
      laneOwner: (onOver) => this.laneOwner(onOver),
      onForeign: parts.onForeign,
    });
    this.layouts = this.measured(parts.layouts);
    const { layouts } = this;
    this.pickByLayout = layouts === undefined ? this.pickLane : () => layouts.pick();
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.owner = this.laneOwner((lane) => {
      if (this.ourLane !== lane) return;
      // A session of one lane has no other.
      if (this.direct.sole === undefined) this.ourLane = undefined;
      this.pings.fail("the lane has ended");
    });
    const { onDatagram } = this.callee;
    this.direct.attach({
      onStream: (stream) => peerStreams.accept(stream),
      ...(onDatagram !== undefined && { onDatagram }),
      onClosed: ({ closeCode = 0, reason = "" }, error) => {
        this.ended = true;
        if (error !== undefined) this.lost = lostCall(error);
        this.sole?.stop();
        resolve({ closeCode, reason, error });
      },
    });
    if (this.direct.sole !== undefined) this.sole = this.begin(this.direct.sole, parts.sole);
    // Its hello tells the peer what this side reads.
    else if (settings.compression !== undefined) this.openLane();
  }

  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result> {
    return callingOf(method).start(this.invocation(method, options, "lane"), input) as Promise<Result>;
  }

  async notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void> {
    const invocation = this.invocation(method, options, "lane");
    const calling = callingOf(method);
    if (calling.byDatagram !== undefined && options?.via === undefined) {
      this.requireOpen();
      if (this.drainage.objection !== undefined) refuse(this.drainage.objection);
      if (calling.byDatagram(this.direct.datagrams, this.settings, invocation, input)) return;
    }
    const ownStream = invocation.pick === this.pickStream;
    calling.start(ownStream ? { ...invocation, pick: this.pickNotifyStream } : invocation, input);
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result> {
    return callingOf(method).start(this.invocation(method, options, "stream"), input) as ItemStream<Result>;
  }

  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result> {
    return callingOf(method).start(this.invocation(method, options, "stream"), source) as Promise<Result>;
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result> {
    return callingOf(method).start(this.invocation(method, options, "stream"), undefined) as DuplexStream<Sent, Result>;
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
    return this.pickByLayout;
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
    return Lane.open(this.openStream(), this.callee, this.settings, owner);
  }

  private callsMade(): number {
    return this.ownStreams.made + (this.ourLane?.callsMade ?? 0) + (this.layouts?.callsMade ?? 0);
  }

  /** Undefined where nothing is measured: then all calls share one lane. */
  private measured(layouts: SessionParts["layouts"]): Layouts | undefined {
    const { direct } = this;
    if (layouts === undefined || direct.sole !== undefined || direct.stats === undefined) return undefined;
    return layouts({
      stats: direct.stats.bind(direct),
      callsMade: () => this.callsMade(),
      bytesSent: () => this.settings.traffic.sentBytes,
      lane: this.pickLane,
      openLane: (onOver) => this.openLaneFor(this.laneOwner(onOver)),
      openStream: this.pickStream,
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
  private begin(sole: SoleStream, start: SessionParts["sole"]): SoleLane | undefined {
    if (this.ended) return undefined;
    if (start === undefined) throw new TypeError("a session of one byte stream is made by createSession");
    const begun = start(sole, this.callee, this.owner, (lane) => this.pings.probe((token) => lane.ping(token)));
    this.ourLane = begun.lane;
    return begun;
  }

  private laneOwner(onOver: (lane: Lane) => void): LaneOwner {
    return {
      onOver,
      onIdle: () => this.drainage.check(),
      onHello: () => this.sole?.onHello(),
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
