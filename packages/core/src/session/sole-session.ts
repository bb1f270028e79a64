import type { Carrier } from "../call/carrier.js";
import { Lane } from "../call/lanes/lane.js";
import type { PeerLane, LaneHost } from "../call/lanes/peer-lane.js";
import type { SoleStream, TransportSession } from "../transport/session.js";
import type { Frame } from "../wire/frame.js";
import type { Hello } from "../wire/hello.js";
import { readClose } from "../wire/close-frame.js";
import { KeepAlive, type KeepAliveOptions } from "./keep-alive.js";
import type { SessionParts } from "./parts.js";
import { LaneSession, ASSUMED_CALLS } from "./lane-session.js";
import type { RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import * as StreamKind from "../wire/stream-kind.js";

const NO_PREFIX = new Uint8Array(0);

/** A session over one byte stream, which is a single lane. */
export class SoleSession<Transport extends TransportSession> extends LaneSession<Transport> {
  private readonly stream: SoleStream;
  private readonly keepAlive: KeepAliveOptions | false;
  /** Timer that runs until the peer has greeted. */
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
    // The lane stays the session's after its end, because there is no other.
    const lane = soleLane(stream, this, (_, error) => this.pings.fail(error));
    // A separate message over a WebSocket: a server may want to read it before anything that follows.
    if (stream.opener) lane.channel.flushNow();
    this.takes(ASSUMED_CALLS);
    this.ourLane = lane;
    this.lanes = [lane];
    if (keepAlive !== false) {
      const ping = (): void => this.pings.probe((token) => lane.ping(token));
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

  override onHello(lane: PeerLane, hello: Hello): void {
    clearTimeout(this.handshake);
    this.stream.greeted();
    super.onHello(lane, hello);
  }

  onClose(frame: Frame): void {
    this.stream.closedByPeer(readClose(frame));
  }
}

/** The lane that is a whole session. */
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
