import * as StreamKind from "../wire/stream-kind.js";
import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS, type Limits } from "../limits.js";
import type { Metadata } from "../metadata.js";
import { type ReadGreeting, readGreeting } from "../wire/greeting.js";
import { decodeMetadata } from "../wire/metadata.js";
import type { TransportSession, DirectStream } from "./session.js";
import { MemoryBudget } from "../memory-budget.js";
import type { Frame } from "../wire/frame.js";
import { FrameReader } from "../wire/reader.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/cursor.js";

/** A client's greeting: credentials and metadata that it sends before any call. */
export interface Greeting {
  /** Value of the client's option `credentials`; undefined if it sent none. */
  readonly credentials: string | undefined;
  /** Value of the client's option `metadata`, which nobody has verified; empty if it sent none. */
  readonly metadata: Metadata;
}

/** Options of `receiveGreeting`. */
export interface GreetingOptions {
  /** Value of the session's option `prefix`: bytes at the beginning of each stream. Default: none. */
  readonly prefix?: Uint8Array;
  /** Limits. Uses `maxGreetingBytes` and `maxHandshakeMs`. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /**
   * Milliseconds to wait for the client's first data. After that, `receiveGreeting` resolves with an empty greeting.
   * Default: half of `limits.maxHandshakeMs`.
   */
  readonly timeoutMs?: number;
}

const NOTHING: ReadGreeting = {};

/**
 * Reads a client's greeting (credentials and metadata) from a transport session before a session is created on it.
 * `createSession` on the same transport receives all bytes again. Reads at most `limits.maxGreetingBytes`, and nothing
 * after the greeting. Resolves with empty values if the client begins with something else or sends nothing in time.
 * Rejects with an `RpcError` if the greeting is too large or malformed, if the peer is gone, or if the transport has no
 * `firstStream` and is not a byte stream.
 */
export function receiveGreeting(
  transport: TransportSession,
  { prefix = new Uint8Array(0), limits, timeoutMs }: GreetingOptions = {},
): Promise<Greeting> {
  const { maxGreetingBytes, maxHandshakeMs } = { ...DEFAULT_LIMITS, ...limits };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(NOTHING), timeoutMs ?? maxHandshakeMs / 2);
    const settle = ({ credentials, metadata }: ReadGreeting): void => {
      clearTimeout(timer);
      resolve({ credentials, metadata: decodeMetadata(metadata) });
    };
    const fail = (error: RpcError): void => {
      clearTimeout(timer);
      reject(error);
    };
    lookAtFirstLane(transport, prefix, {
      look(bytes, start) {
        const hello = frameAt(bytes, start, maxGreetingBytes, readGreeting);
        if (hello === undefined) return true;
        settle(hello.result);
        return false;
      },
      onOther: () => settle(NOTHING),
      onFailed: fail,
    });
  });
}

/** Callbacks for inspecting the first lane of a client before a session is created. */
export interface LaneLook {
  /**
   * Called with all bytes of the lane that have arrived, and again with more, until it returns false. If it throws,
   * `onFailed` receives the exception.
   *
   * @param start position of the lane's first frame
   */
  look(bytes: Uint8Array, start: number, stream: DirectStream): boolean;
  /** Called if the client's first stream is not a lane. */
  onOther(): void;
  /** Called if the peer has disconnected, the transport does not support inspection, or `look` has thrown. */
  onFailed(error: RpcError): void;
}

/** Inspects the first bytes of a client's session. The session that is created later receives all bytes again. */
export function lookAtFirstLane(transport: TransportSession, prefix: Uint8Array, look: LaneLook): void {
  const onStream = (stream: DirectStream, expected: Uint8Array): void => {
    if (stream.peek === undefined) {
      look.onFailed(unable());
      return;
    }
    const onBytes = (bytes: Uint8Array): boolean => {
      try {
        const start = laneStart(bytes, expected);
        if (start === undefined) return true;
        if (start >= 0) return look.look(bytes, start, stream);
        look.onOther();
      } catch (error) {
        look.onFailed(RpcError.from(error, "invalid_argument"));
      }
      return false;
    };
    const onGone = (): void =>
      look.onFailed(new RpcError("cancelled", "the peer ended its first stream before its greeting"));
    stream.peek(onBytes, onGone);
  };
  if (!("openStream" in transport)) look.onFailed(unable());
  // A session over one byte stream uses no prefix.
  else if (transport.sole !== undefined) onStream(transport.sole, new Uint8Array(0));
  else if (transport.firstStream === undefined) look.onFailed(unable());
  else transport.firstStream((stream) => onStream(stream, prefix));
}

/**
 * Reads the frame that begins at `start`, and returns the result of `use`; undefined if more bytes are needed. Throws
 * `RpcError` if the frame is larger than `maxBytes`, which is the value of `limits.maxGreetingBytes`.
 *
 * @param use called with the frame, whose bytes are valid only during the call
 */
export function frameAt<Result>(
  bytes: Uint8Array,
  start: number,
  maxBytes: number,
  use: (frame: Frame) => Result,
): { readonly result: Result; readonly end: number } | undefined {
  const bodyStart = varintEnd(bytes, start);
  if (bodyStart === undefined) return undefined;
  const end = bodyStart + readVarint(bytes, start);
  if (end - start > maxBytes) {
    throw new RpcError("resource_exhausted", `a greeting has at most ${maxBytes} bytes (limits.maxGreetingBytes)`);
  }
  if (bytes.length < end) return undefined;
  const results: Result[] = [];
  const reader = new FrameReader(maxBytes, new MemoryBudget(maxBytes, "limits.maxGreetingBytes"));
  reader.push(bytes.subarray(0, end), start, {
    onFrame(frame) {
      results.push(use(frame));
    },
  });
  return { result: results[0] as Result, end };
}

/** Returns the position of a lane's first frame; -1 if the stream is not a lane, undefined if more bytes are needed. */
function laneStart(bytes: Uint8Array, prefix: Uint8Array): number | undefined {
  const known = Math.min(prefix.length, bytes.length);
  for (let at = 0; at < known; at++) if (bytes[at] !== prefix[at]) return -1;
  const end = varintEnd(bytes, prefix.length);
  if (end === undefined) return undefined;
  return readVarint(bytes, prefix.length) === StreamKind.Lane ? end : -1;
}

/** Returns the position after the varint at `at`; undefined if it is incomplete. */
function varintEnd(bytes: Uint8Array, at: number): number | undefined {
  if (at >= bytes.length) return undefined;
  const end = at + varintLengthFromFirstByte(bytes[at] as number);
  return end > bytes.length ? undefined : end;
}

function unable(): RpcError {
  return new RpcError("internal", "the transport cannot be read before there is a session: it carries no greeting");
}
