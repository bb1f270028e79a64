/**
 * A frame, on lanes and on the streams of single calls alike (docs/protocol.md §3):
 *
 *     length (varint) | type and flags (1 byte) | call id (varint) | body
 *
 * `length` counts what follows it. The low four bits of the second field are the type, the high four its flags.
 */
export const FrameType = {
  /** version (varint), then settings as fields. The first frame of each side on a lane. */
  Hello: 0x0,
  /** service (2 bytes), method (varint), [head], payload */
  Request: 0x1,
  /** As a request, without an answer; call id 0. */
  Notify: 0x2,
  /** [head], payload */
  Response: 0x3,
  /** [head], code (1 byte), message length (varint), message (UTF-8), details (msgpack, may be absent) */
  Error: 0x4,
  /** [head], payload: one message of a stream */
  Item: 0x5,
  /** [head]. The stream of messages ends well. */
  End: 0x6,
  /** code (1 byte): the caller gives the call up. */
  Cancel: 0x7,
  /** bytes (varint): the receiver of items has room for so many more. Lanes only. */
  Credit: 0x8,
  /** [head]: what the callee says before its first message, at most once. */
  Headers: 0x9,
  /** stage (varint, a `GoawayStage`): no more calls. Lanes only, call id 0. */
  Goaway: 0xa,
  /** Up to 8 bytes that come back in a pong. Lanes only, call id 0. */
  Ping: 0xb,
  Pong: 0xc,
  /** code (varint), reason (UTF-8): the session ends. Only where the session is one byte stream, call id 0. */
  Close: 0xd,
  /** The callee's items end well, and its call goes on while the caller sends. */
  HalfEnd: 0xe,
} as const;

export const TYPE_MASK = 0x0f;
/** A head (fields with a length before them) stands before the rest of the body. */
export const FLAG_HEAD = 0x10;
/** What stands after the head, and in a request after the method, is compressed: algorithm (1 byte) | its output. */
export const FLAG_COMPRESSED = 0x20;
/** The types whose frames may be compressed, one bit each: request to item. */
const TYPES_WITH_PAYLOAD = 0x03e;
/** The types whose frames may have a head: those, end and headers. */
const TYPES_WITH_HEAD = 0x27e;

/** Whether frames of `type` may have `flags`: a head only where one may stand, compression only of what may be long. */
export function flagsAllowed(type: number, flags: number): boolean {
  const head = (flags & FLAG_HEAD) === 0 || ((TYPES_WITH_HEAD >> type) & 1) === 1;
  const compressed = (flags & FLAG_COMPRESSED) === 0 || ((TYPES_WITH_PAYLOAD >> type) & 1) === 1;
  return head && compressed && flags < 0x40;
}

/** What the first varint of a stream says that it is. */
export const StreamKind = {
  /** One call: its frames have call id 0. */
  Call: 0x1,
  /** Many calls, told apart by id. */
  Lane: 0x2,
} as const;

/** What a goaway says of its sender. */
export const GoawayStage = {
  /** It takes no more calls; those in progress go on. */
  Refusing: 0x0,
  /** It makes no more calls, and has the answers of all it made. */
  Finished: 0x1,
} as const;

/** What the first varint of a datagram says that it is. */
export const DatagramKind = {
  /** One notify frame, with call id 0. */
  Notify: 0x1,
} as const;

export const PROTOCOL_VERSION = 1;

/**
 * Bytes of item frames that a sender may send on a lane, for each call, before the first credit. The sender may
 * overdraw by the frame that crosses the line.
 */
export const INITIAL_CREDIT: number = 256 * 1024;

/** One received frame. The reader reuses a single object: it is valid during `onFrame` only, its bytes as well. */
export interface Frame {
  /** A `FrameType`, or a number that is none. */
  type: number;
  flags: number;
  callId: number;
  bytes: Uint8Array;
  /** Where the body begins. */
  start: number;
  /** Where the frame ends. */
  end: number;
  /** Bytes of the whole frame, its length field included. */
  size: number;
  /** It is larger than allowed: its body is passed over, and `start` is `end`. */
  oversized: boolean;
}
