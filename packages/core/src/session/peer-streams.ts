import type { Callee } from "../call/carrier.js";
import { PeerLane } from "../call/lanes/peer-lane.js";
import { ProtocolError } from "../errors.js";
import { STREAM_BYTES } from "../memory-budget.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import type { DirectStream, DirectStreamHandler, TransportSession } from "../transport/session.js";
import type { ForeignStreams } from "../transport/foreign-stream.js";
import { joined } from "../transport/joined.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/cursor.js";
import * as StreamKind from "../wire/stream-kind.js";
import * as ResetCode from "../transport/close-codes.js";
import type { StreamSession } from "./stream-session.js";

/**
 * Accepts a stream that the peer of `session` has opened. Its first bytes decide whether it is a lane, a call, or
 * belongs to another protocol. A function for all sessions: V8 keeps a function that is assigned to a property of each
 * among old objects, and with it the session.
 */
export function acceptPeerStream(session: StreamSession<TransportSession>, stream: DirectStream): void {
  const { settings, onForeign } = session;
  const { budget, limits, prefix } = settings;
  if (session.peerStreams >= limits.maxStreams || !budget.charge(STREAM_BYTES)) {
    if (session.peerStreams < limits.maxStreams) budget.release(STREAM_BYTES);
    stream.reset(ResetCode.TooManyStreams);
    stream.stopSending(ResetCode.TooManyStreams);
    return;
  }
  session.peerStreams++;
  const onOver = (): void => {
    session.peerStreams--;
    budget.release(STREAM_BYTES);
  };
  const accept = (handler: (channel: Channel) => FrameHandler): Channel => Channel.accept(stream, handler, settings);
  const channelOf = (kind: number): Channel | undefined => {
    const { callee } = session;
    if (kind === StreamKind.Lane) return accept((channel) => new PeerLane(1, () => channel, session, onOver));
    if (kind !== StreamKind.Call || !takesStreams(callee)) return undefined;
    return accept((channel) => callee.onStream(channel, onOver));
  };
  StreamSorter.sort(stream, { prefix, channelOf, onForeign, onUnclaimed: onOver });
}

function takesStreams(callee: Callee): callee is Callee & Required<Pick<Callee, "onStream">> {
  return callee.onStream !== undefined;
}

/** The session's settings and callbacks for streams that the peer opens. */
interface StreamOwner {
  /** Bytes at the beginning of every stream of this protocol, before the number of its kind. */
  readonly prefix: Uint8Array;
  /** Creates the channel for a stream of this protocol. Returns undefined if its kind is unknown. */
  readonly channelOf: (kind: number) => Channel | undefined;
  /** Takes over a stream of another protocol. If undefined, such streams are refused. */
  readonly onForeign: ForeignStreams | undefined;
  /** Called if a stream was refused, or ended before it could be identified. */
  readonly onUnclaimed: () => void;
  /** Channel that may send on the stream before the stream's kind has arrived. */
  readonly early?: Channel;
}

/** Identifies a stream that the peer opened by its first bytes, and passes it to the code that handles it. */
export class StreamSorter implements DirectStreamHandler {
  readonly #stream: DirectStream;
  /** The session that handles the stream; undefined once the stream has been identified or refused. */
  #owner: StreamOwner | undefined;
  #channel: Channel | undefined = undefined;
  #foreign: DirectStreamHandler | undefined = undefined;
  #first: Uint8Array | undefined = undefined;
  /** Code of a STOP_SENDING that arrived before the stream was identified. */
  #stopped: number | undefined = undefined;

  private constructor(stream: DirectStream, owner: StreamOwner) {
    this.#stream = stream;
    this.#owner = owner;
  }

  static sort(stream: DirectStream, owner: StreamOwner): void {
    stream.attach(new StreamSorter(stream, owner));
  }

  get borrows(): boolean {
    return this.#channel !== undefined;
  }

  onData(chunk: Uint8Array): void {
    if (this.#channel !== undefined) this.#channel.onData(chunk);
    else if (this.#foreign !== undefined) this.#foreign.onData(chunk);
    else if (this.#owner !== undefined)
      this.#sort(this.#owner, this.#first === undefined ? chunk : joined(this.#first, chunk));
  }

  onEnd(): void {
    if (this.#owner?.onForeign !== undefined) this.#giveAway(this.#owner, this.#first ?? new Uint8Array(0));
    if (this.#owner !== undefined) this.#refuse(this.#owner, ResetCode.ProtocolViolation);
    else this.#target?.onEnd();
  }

  onReset(code: number): void {
    if (this.#owner !== undefined) this.#refuse(this.#owner, code);
    else this.#target?.onReset(code);
  }

  onStopSending(code: number): void {
    if (this.#owner === undefined) this.#target?.onStopSending(code);
    // A call or a lane needs no further handling, but this side may still send on a stream of another protocol.
    else if (this.#owner.onForeign === undefined) this.#refuse(this.#owner, code);
    else this.#stopped = code;
  }

  onDrain(): void {
    (this.#target ?? this.#owner?.early)?.onDrain();
  }

  onClosed(error: Error | undefined): void {
    if (this.#owner !== undefined) this.#giveUp(this.#owner);
    else this.#target?.onClosed(error);
  }

  get #target(): DirectStreamHandler | undefined {
    return this.#channel ?? this.#foreign;
  }

  #sort(owner: StreamOwner, bytes: Uint8Array): void {
    this.#first = bytes;
    const { prefix } = owner;
    const known = Math.min(prefix.length, bytes.length);
    for (let at = 0; at < known; at++) {
      if (bytes[at] !== prefix[at]) {
        this.#giveAway(owner, bytes);
        return;
      }
    }
    if (bytes.length <= prefix.length) return;
    const start = prefix.length + varintLengthFromFirstByte(bytes[prefix.length] as number);
    if (bytes.length < start) return;
    this.#claim(owner, bytes, start);
  }

  #claim(owner: StreamOwner, bytes: Uint8Array, start: number): void {
    let kind = -1;
    try {
      kind = readVarint(bytes, owner.prefix.length);
    } catch (error) {
      // The varint is larger than any number of this protocol.
      if (!(error instanceof ProtocolError)) throw error;
    }
    this.#channel = owner.channelOf(kind);
    if (this.#channel === undefined) {
      this.#giveAway(owner, bytes);
      return;
    }
    this.#owner = undefined;
    this.#first = undefined;
    if (this.#stopped === undefined) this.#channel.onData(bytes, start);
    else this.#channel.onStopSending(this.#stopped);
  }

  #giveAway(owner: StreamOwner, bytes: Uint8Array): void {
    const { onForeign } = owner;
    if (onForeign === undefined) {
      this.#refuse(owner, ResetCode.UnknownKind);
      return;
    }
    this.#owner = undefined;
    this.#first = undefined;
    owner.onUnclaimed();
    this.#foreign = onForeign(this.#stream, bytes);
    if (this.#stopped !== undefined) this.#foreign.onStopSending(this.#stopped);
  }

  #refuse(owner: StreamOwner, code: number): void {
    this.#giveUp(owner);
    this.#stream.reset(code);
    this.#stream.stopSending(code);
  }

  #giveUp(owner: StreamOwner): void {
    this.#owner = undefined;
    this.#first = undefined;
    owner.onUnclaimed();
  }
}
