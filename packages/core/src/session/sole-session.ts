import * as StreamKind from "../wire/stream-kind.js";
import type { Carrier } from "../call/carrier.js";
import { Lane } from "../call/lanes/lane.js";
import type { PeerLane, LaneHost } from "../call/lanes/peer-lane.js";
import type { SoleStream, TransportSession } from "../transport/session.js";
import type { Frame } from "../wire/frame.js";
import type { HelloFrame } from "../wire/hello.js";
import { readClose } from "../wire/close-frame.js";
import type { SessionParts } from "./parts.js";
import { LaneSession, ASSUMED_CALLS } from "./lane-session.js";
import type { RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { StreamSorter } from "./peer-streams.js";

/** Options of keep-alive pings, which detect a lost peer. */
export interface KeepAliveOptions {
  /** A ping is sent if no data arrives from the peer for this many milliseconds. Default 15,000. */
  readonly intervalMs?: number;
  /** The session counts as lost if no data arrives within this many milliseconds after the ping. Default 20,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_INTERVAL_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 20_000;

/** Pings a peer that sends nothing, and reports it as lost if it still sends nothing. Uses a single timer. */
class KeepAlive {
  private readonly channel: Channel;
  private readonly intervalMs: number;
  private readonly timeoutMs: number;
  private readonly ping: () => void;
  private readonly onSilent: (error: Error) => void;
  private seen = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(channel: Channel, options: KeepAliveOptions, ping: () => void, onSilent: (error: Error) => void) {
    this.channel = channel;
    this.intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.ping = ping;
    this.onSilent = onSilent;
    this.listen();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private listen(): void {
    this.seen = this.channel.signsOfLife;
    this.wait(this.intervalMs, () => {
      if (this.channel.signsOfLife !== this.seen) this.listen();
      else this.challenge();
    });
  }

  private challenge(): void {
    this.ping();
    this.wait(this.timeoutMs, () => {
      if (this.channel.signsOfLife !== this.seen) this.listen();
      else this.onSilent(new Error(`no sign of the peer for ${this.intervalMs + this.timeoutMs} ms (keepAlive)`));
    });
  }

  private wait(ms: number, then: () => void): void {
    this.timer = setTimeout(then, ms);
    // In Node, this timer must not keep the process alive; the socket does.
    (this.timer as { unref?(): void }).unref?.();
  }
}

const NO_PREFIX = new Uint8Array(0);

/** A session over a single byte stream, such as a WebSocket: the stream is its only lane. */
export class SoleSession<Transport extends TransportSession> extends LaneSession<Transport> {
  private readonly stream: SoleStream;
  private readonly keepAlive: KeepAliveOptions | false;
  /** Timer that ends the session if the peer does not send its first frame within `limits.maxHandshakeMs`. */
  private handshake: ReturnType<typeof setTimeout> | undefined = undefined;
  private beat: KeepAlive | undefined = undefined;

  constructor(transport: Transport, stream: SoleStream, keepAlive: KeepAliveOptions | false, parts: SessionParts) {
    super(transport, parts);
    this.stream = stream;
    this.keepAlive = keepAlive;
  }

  override open(): this {
    this.attach();
    if (this.ended) return this;
    const { stream, keepAlive } = this;
    const { maxHandshakeMs } = this.limits;
    this.handshake = setTimeout(
      () => stream.lose(new Error(`no hello within ${maxHandshakeMs} ms (limits.maxHandshakeMs)`)),
      maxHandshakeMs,
    );
    // The lane is not replaced when it ends, because there is no other stream.
    const lane = soleLane(stream, this, (_, error) => this.pings.fail(error));
    // Over a WebSocket, the first frame is a separate message, because a server may read it before creating the
    // session.
    if (stream.opener) lane.channel.flushNow();
    this.takes(ASSUMED_CALLS);
    this.ourLane = lane;
    this.lanes = [lane];
    if (keepAlive !== false) {
      const ping = (): void => this.pings.send(lane);
      this.beat = new KeepAlive(lane.channel, keepAlive, ping, (error) => stream.lose(error));
    }
    void this.closed.then(() => {
      clearTimeout(this.handshake);
      this.beat?.stop();
    });
    return this;
  }

  protected override beforeClose(): void {
    this.ourLane?.channel.flushNow();
  }

  protected override pick(): Carrier {
    return this.lane();
  }

  override lane(): Lane {
    this.requireOpen();
    return this.ourLane as Lane;
  }

  override onHello(lane: PeerLane, hello: HelloFrame): void {
    clearTimeout(this.handshake);
    this.stream.greeted();
    super.onHello(lane, hello);
  }

  onClose(frame: Frame): void {
    this.stream.closedByPeer(readClose(frame));
  }
}

function soleLane(stream: SoleStream, host: LaneHost, onOver: (lane: unknown, error: RpcError) => void): Lane {
  const { settings } = host;
  if (stream.opener) return new Lane(0, Lane.on(stream, { ...settings, prefix: NO_PREFIX }), host, onOver);
  const accept = (lane: FrameHandler): Channel => {
    const channel = Channel.accept(stream, () => lane, settings);
    StreamSorter.sort(stream, {
      prefix: NO_PREFIX,
      channelOf: (kind) => (kind === StreamKind.Lane ? channel : undefined),
      onForeign: undefined,
      onUnclaimed: () => lane.onClosed(new Error("the peer does not speak quicrpc")),
      early: channel,
    });
    return channel;
  };
  return new Lane(1, accept, host, onOver);
}
