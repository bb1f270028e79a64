import { IncomingCallStream, OutgoingCallStream } from "../call/call-stream.js";
import type { Caller, DuplexStream } from "../call/caller.js";
import type { Carrier } from "../call/carrier.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import { Lane } from "../call/lane.js";
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
import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS, type Limits } from "../limits.js";
import { Dispatcher, type ErrorHook } from "../server/dispatch.js";
import { MethodTable, type Router } from "../server/router.js";
import { Channel, type ChannelSettings, type FrameHandler } from "../transport/channel.js";
import { ResetCode } from "../transport/reset-codes.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import type { CloseInfo, DirectSession, DirectStream, TransportSession } from "../transport/session.js";
import { directSession } from "../transport/web-session.js";
import { StreamKind } from "../wire/frame.js";

/** What a session is made with. */
export interface SessionOptions<Context = unknown> {
  /** What this side serves. Default: nothing. */
  readonly routers?: readonly Router<Context>[];
  /** What handlers find as `context.connection`. */
  readonly connection?: Context;
  readonly limits?: Partial<Limits>;
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
  private readonly pickLane = (): Carrier => this.lane();
  private readonly pickStream = (): Carrier => this.callStream();
  private readonly pickNotifyStream = (): Carrier => {
    const stream = new OutgoingCallStream(this.openStream(), this.settings, () => {
      this.unconfirmed.delete(stream);
      this.onConfirmed?.();
    });
    this.unconfirmed.add(stream);
    return stream;
  };
  private readonly forgetLane = (lane: Lane): void => {
    if (this.ourLane === lane) this.ourLane = undefined;
  };
  private ourLane: Lane | undefined;
  /** Streams of notifications that the peer may not have received yet. */
  private readonly unconfirmed: Set<OutgoingCallStream> = new Set();
  private onConfirmed: (() => void) | undefined;
  private peerStreams = 0;
  private ended = false;

  constructor(transport: Transport, options: SessionOptions<Context>) {
    this.transport = transport;
    this.direct = directSession(transport);
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.settings = {
      limits: this.limits,
      budget: { usedBytes: 0, maxBytes: this.limits.maxUnfinishedBytes },
      prefix: options.prefix?.slice() ?? new Uint8Array(0),
    };
    this.onForeignStream = options.onForeignStream && guarded(options.onForeignStream);
    this.dispatcher = new Dispatcher<Context>({
      table: MethodTable.of(options.routers ?? []),
      connection: options.connection as Context,
      session: this,
      limits: this.limits,
      onError: guarded(options.onError ?? logError),
      inProgress: 0,
    });
    const { promise, resolve } = deferred<SessionEnd>();
    this.closed = promise;
    this.direct.attach({
      onStream: (stream) => this.accept(stream),
      onClosed: ({ closeCode = 0, reason = "" }, error) => {
        this.ended = true;
        resolve({ closeCode, reason, error });
      },
    });
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
    invokeNotify(options?.via === "stream" ? { ...invocation, pick: this.pickNotifyStream } : invocation, input);
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
    if ((info.closeCode ?? 0) === 0) await this.delivered();
    this.direct.close(info);
    return this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private invocation(method: AnyMethod, options: CallOptions | undefined, usual: "lane" | "stream"): Invocation {
    const pick = (options?.via ?? usual) === "lane" ? this.pickLane : this.pickStream;
    return { pick, method, options, limits: this.limits };
  }

  /** Takes no more calls, and resolves when the peer has received what was sent. */
  private delivered(): Promise<void> {
    const lane = this.ourLane;
    const open = !this.ended;
    this.ended = true;
    if (!open || (lane === undefined && this.unconfirmed.size === 0)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.limits.maxCloseMs);
      let laneDone = lane === undefined;
      this.onConfirmed = () => {
        if (!laneDone || this.unconfirmed.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      lane?.finish(() => {
        laneDone = true;
        this.onConfirmed?.();
      });
    });
  }

  private lane(): Lane {
    if (this.ourLane === undefined || this.ourLane.spent) {
      this.ourLane = Lane.open(this.openStream(), this.dispatcher, this.settings, this.forgetLane);
    }
    return this.ourLane;
  }

  private callStream(): OutgoingCallStream {
    return new OutgoingCallStream(this.openStream(), this.settings);
  }

  private openStream(): DirectStream {
    if (this.ended) throw new RpcError("unavailable", "the session has closed", { refused: true });
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
        return accept((channel) => Lane.accept(channel, this.dispatcher, this.settings, onOver));
      case StreamKind.Call:
        return accept((channel) => new IncomingCallStream(channel, this.dispatcher, onOver));
      default:
        return undefined;
    }
  }
}

/** A hook that throws must not cost the call, or the calls beside it: its exception goes to the platform's own hook. */
function guarded<Args extends unknown[]>(hook: (...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    try {
      hook(...args);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  };
}

// oxlint-disable-next-line no-console -- the default of an option; a crash in a handler must not pass unseen
const logError: ErrorHook = (error, { method }) => console.error(`quicrpc: ${method} failed:`, error);
