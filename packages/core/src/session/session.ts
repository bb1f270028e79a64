import { IncomingCallStream, OutgoingCallStream } from "../call/call-stream.js";
import type { Caller, DuplexStream } from "../call/caller.js";
import type { Carrier } from "../call/carrier.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import { Lane, type LaneOwner } from "../call/lane.js";
import type { CallOptions } from "../call/options.js";
import {
  type Invocation,
  invokeClientStream,
  invokeDuplex,
  invokeNotify,
  invokeServerStream,
  invokeUnary,
} from "../client/invoke.js";
import type { AnyMethod, MethodDescriptor } from "../contract/descriptor.js";
import { deferred } from "../deferred.js";
import { ProtocolError, RpcError } from "../errors.js";
import { guarded } from "../guarded.js";
import { completeLimits, type Limits } from "../limits.js";
import { Admission, type LoadShedder } from "../server/admission.js";
import { Dispatcher, type ErrorHook } from "../server/dispatch.js";
import { MethodTable, type Router } from "../server/router.js";
import { Channel, type ChannelSettings, type FrameHandler } from "../transport/channel.js";
import { lostCall, SessionCode } from "../transport/close-codes.js";
import { ResetCode } from "../transport/reset-codes.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import type { CloseInfo, DirectSession, DirectStream, SoleStream, TransportSession } from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import { StreamKind } from "../wire/frame.js";
import { Drain } from "./drain.js";
import { KeepAlive, type KeepAliveOptions } from "./keep-alive.js";
import { Pings } from "./pings.js";

/** What a session is made with. */
export interface SessionOptions<Context = unknown> {
  /** What this side serves. Default: nothing. */
  readonly routers?: readonly Router<Context>[];
  /** What handlers find as `context.connection`. */
  readonly connection?: Context;
  readonly limits?: Partial<Limits>;
  /** Refuses calls under load. Sessions may share one. */
  readonly loadShedder?: LoadShedder;
  /** Pings over a byte stream, which does not tell by itself that the peer is gone; `false` for none. QUIC has its own. */
  readonly keepAlive?: KeepAliveOptions | false;
  /** Told of failures that the caller is not told in full. Default: `console.error`. */
  readonly onError?: ErrorHook;
  /**
   * What every stream of calls begins with, where the transport session is shared with another protocol whose streams
   * could be taken for them. Both sides must have the same. Default: nothing.
   */
  readonly prefix?: Uint8Array;
  /**
   * Takes the streams that the peer opened and that do not belong to this protocol, with all their bytes; attach a
   * handler to read one. Without it they are refused. Streams of your own are opened on `Session.transport`.
   */
  readonly onForeignStream?: (stream: DirectStream) => void;
}

/** How a session ended. */
export interface SessionEnd {
  /** Application error code of the close, 0 for a clean one. */
  readonly closeCode: number;
  readonly reason: string;
  /** Why the session was lost; undefined after a close by either side with code 0. */
  readonly error: Error | undefined;
}

/** Options of `Session.drain`. */
export interface DrainOptions {
  /** Milliseconds that calls in progress still have. */
  readonly timeoutMs?: number;
}

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
  private readonly settings: ChannelSettings;
  private readonly onForeignStream: ((stream: DirectStream) => void) | undefined;
  private readonly dispatcher: Dispatcher<Context>;
  private readonly admission: Admission;
  private readonly drainage: Drain;
  private readonly pings: Pings = new Pings();
  private readonly owner: LaneOwner;
  private readonly keepAlive: KeepAlive | undefined;
  private handshake: ReturnType<typeof setTimeout> | undefined;
  private readonly pickLane = (): Carrier => this.lane();
  private readonly pickStream = (): Carrier => {
    if (this.direct.sole !== undefined) return this.lane();
    const stream = this.openStream();
    this.streamsMade++;
    return new OutgoingCallStream(stream, this.settings, this.onStreamOver);
  };
  private readonly pickNotifyStream = (): Carrier => {
    if (this.direct.sole !== undefined) return this.lane();
    const stream = this.openStream();
    this.streamsMade++;
    this.unconfirmed++;
    return new OutgoingCallStream(stream, this.settings, () => {
      this.unconfirmed--;
      this.onConfirmed?.();
      this.onStreamOver();
    });
  };
  private readonly onStreamOver = (): void => {
    this.streamsMade--;
    this.drainage.check();
  };
  private ourLane: Lane | undefined;
  /** Streams of our calls that are not over. */
  private streamsMade = 0;
  /** Those of them with notifications that the peer may not have received yet. */
  private unconfirmed = 0;
  private onConfirmed: (() => void) | undefined;
  private peerStreams = 0;
  private ended = false;
  /** What calls fail with after the session was lost. */
  private lost: RpcError | undefined;

  constructor(transport: Transport, options: SessionOptions<Context>) {
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = completeLimits(options.limits);
    this.settings = {
      limits: this.limits,
      budget: { usedBytes: 0, maxBytes: this.limits.maxUnfinishedBytes },
      prefix: options.prefix?.slice() ?? new Uint8Array(0),
    };
    this.onForeignStream = options.onForeignStream && guarded(options.onForeignStream);
    this.drainage = new Drain({
      callsMade: () => this.streamsMade + (this.ourLane?.callsMade ?? 0),
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
      onError: guarded(options.onError ?? logError),
      admission: this.admission,
    });
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.owner = this.laneOwner((lane) => {
      if (this.ourLane !== lane) return;
      // A session of one lane has no other.
      if (this.direct.sole === undefined) this.ourLane = undefined;
      this.pings.fail("the lane has ended");
    });
    this.direct.attach({
      onStream: (stream) => this.accept(stream),
      onClosed: ({ closeCode = 0, reason = "" }, error) => {
        this.ended = true;
        if (error !== undefined) this.lost = lostCall(error);
        this.keepAlive?.stop();
        clearTimeout(this.handshake);
        resolve({ closeCode, reason, error });
      },
    });
    if (this.direct.sole !== undefined) this.keepAlive = this.begin(this.direct.sole, options.keepAlive);
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
    const via = options?.via ?? (prioritized ? "stream" : usual);
    const pick = via === "lane" ? this.pickLane : this.pickStream;
    return {
      pick: objection === undefined ? pick : () => refuse(objection),
      method,
      options,
      limits: this.limits,
    };
  }

  /** Takes no more calls, and resolves when the peer has received what was sent. */
  private delivered(): Promise<void> {
    const lane = this.ourLane;
    const open = !this.ended;
    this.ended = true;
    if (!open || (lane === undefined && this.unconfirmed === 0)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.limits.maxCloseMs);
      let laneDone = lane === undefined;
      this.onConfirmed = () => {
        if (!laneDone || this.unconfirmed > 0) return;
        clearTimeout(timer);
        resolve();
      };
      lane?.finish(() => {
        laneDone = true;
        this.onConfirmed?.();
      });
    });
  }

  private requireOpen(): void {
    if (!this.ended) return;
    const { code, message } = this.lost ?? new RpcError("unavailable", "the session has closed");
    throw new RpcError(code, message, { refused: true, cause: this.lost });
  }

  private lane(): Lane {
    this.requireOpen();
    if (this.ourLane === undefined || (this.ourLane.spent && this.direct.sole === undefined)) {
      this.ourLane = Lane.open(this.openStream(), this.dispatcher, this.settings, this.owner);
    }
    return this.ourLane;
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

  private accept(stream: DirectStream): void {
    if (this.peerStreams >= this.limits.maxStreams) {
      stream.reset(ResetCode.TooManyStreams);
      stream.stopSending(ResetCode.TooManyStreams);
      return;
    }
    this.peerStreams++;
    const onOver = (): void => {
      this.peerStreams--;
    };
    const { prefix } = this.settings;
    const channelOf = (kind: number): Channel | undefined => this.channelOf(kind, stream, onOver);
    StreamSorter.sort(stream, { prefix, channelOf, onForeign: this.onForeignStream, onUnclaimed: onOver });
  }

  private channelOf(kind: number, stream: DirectStream, onOver: () => void): Channel | undefined {
    const accept = (handler: (channel: Channel) => FrameHandler): Channel =>
      Channel.accept(stream, handler, this.settings);
    switch (kind) {
      case StreamKind.Lane:
        return accept((channel) => Lane.accept(channel, this.dispatcher, this.settings, this.laneOwner(onOver)));
      case StreamKind.Call:
        return accept((channel) => new IncomingCallStream(channel, this.dispatcher, onOver));
      default:
        return undefined;
    }
  }
}

function refuse(why: string): never {
  throw new RpcError("unavailable", why, { refused: true });
}

// oxlint-disable-next-line no-console -- the default of an option; a crash in a handler must not pass unseen
const logError: ErrorHook = (error, { method }) => console.error(`quicrpc: ${method} failed:`, error);
