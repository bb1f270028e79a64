export const TYPE_MASK = 0x0f;
/** The body begins with a head (fields, with their length before them). */
export const FLAG_HEAD = 0x10;
/** Flag of a frame whose bytes after the head, and in a request after the method, are compressed: algorithm (1 byte) | its output. */
export const FLAG_COMPRESSED = 0x20;
/** Kinds of datagrams, by their first varint. */
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
  /** A `FrameType`, or an unknown number. */
  type: number;
  flags: number;
  callId: number;
  bytes: Uint8Array;
  /** Position of the body. */
  start: number;
  /** Position after the frame. */
  end: number;
  /** Bytes of the whole frame, its length field included. */
  size: number;
  /** It is larger than allowed, or than there is memory for: its body is passed over, and `start` is `end`. */
  oversized: boolean;
}
