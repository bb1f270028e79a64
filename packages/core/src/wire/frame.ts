export const TYPE_MASK = 0x0f;
/** Flag of a frame whose body begins with a head: the length of the head, then its fields. */
export const FLAG_HEAD = 0x10;
/**
 * Flag of a frame with a compressed body: algorithm (1 byte) | compressed bytes. A head, and the method of a request,
 * precede that part uncompressed.
 */
export const FLAG_COMPRESSED = 0x20;
/** Kinds of datagrams. The first varint of a datagram is its kind. */
export const DatagramKind = {
  /** A datagram with one notify frame, whose call id is 0. */
  Notify: 0x1,
} as const;

export const PROTOCOL_VERSION = 1;

/**
 * Bytes of item frames that each call on a lane may send before it receives credit. The frame that reaches the limit
 * may exceed it.
 */
export const INITIAL_CREDIT: number = 256 * 1024;

/** A received frame. The reader reuses one object, so the frame and its bytes are valid only during `onFrame`. */
export interface Frame {
  /** Number of the type: a `FrameType`, or a number that this side does not know. */
  type: number;
  flags: number;
  callId: number;
  bytes: Uint8Array;
  /** Position of the first byte of the body. */
  start: number;
  end: number;
  /** Size of the whole frame in bytes, including its length field. */
  size: number;
  /**
   * True if the frame is larger than allowed, or larger than the available memory. Its body is then skipped, and
   * `start` equals `end`.
   */
  oversized: boolean;
}
