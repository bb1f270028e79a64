import { applyMask, type MaskKey } from "./mask.js";

/*
 * A frame (RFC 6455 §5.2):
 *   FIN 1 bit | RSV 3 bits | opcode 4 bits | MASK 1 bit | length 7 bits | length of 16 or 64 bits where those 7 are 126 or 127 |
 *   key of 4 bytes where MASK is set | payload
 */

const FIN = 0x80;
const RESERVED = 0x70;
const OPCODE = 0x0f;
const CONTROL = 0x08;
const MASK = 0x80;
const SHORT = 0x7f;
const LENGTH_OF_16_BITS = 126;
const LENGTH_OF_64_BITS = 127;
/** Length in bytes of a frame's mask key. */
export const KEY_BYTES = 4;
/** Maximum payload length in bytes of a control frame, and of a frame with a 7-bit length field. */
const LONGEST_SHORT = 125;

/** WebSocket frame types (RFC 6455 §5.2). */
export const Opcode = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** WebSocket close codes (RFC 6455 §7.4.1). */
export const CloseCode = {
  normal: 1000,
  protocolError: 1002,
  unsupportedData: 1003,
  /** The close frame had no code. */
  none: 1005,
  /** The connection ended without a close frame. */
  abnormal: 1006,
  invalidText: 1007,
  tooBig: 1009,
} as const;

export const MAX_HEAD_BYTES = 14;

export function headBytes(length: number, masked: boolean): number {
  const extended = length <= LONGEST_SHORT ? 0 : length <= 0xffff ? 2 : 8;
  return 2 + extended + (masked ? KEY_BYTES : 0);
}

/**
 * Writes a frame at the start of `target`. `target` must have room for `headBytes` and the payload, and its memory must
 * not overlap the payload.
 */
export function putFrame(target: Uint8Array, opcode: number, payload: Uint8Array, key: MaskKey | undefined): void {
  const { length } = payload;
  const masked = key === undefined ? 0 : MASK;
  target[0] = FIN | opcode;
  let at = 2;
  if (length <= LONGEST_SHORT) {
    target[1] = masked | length;
  } else if (length <= 0xffff) {
    target[1] = masked | LENGTH_OF_16_BITS;
    target[2] = length >>> 8;
    target[3] = length;
    at = 4;
  } else {
    target[1] = masked | LENGTH_OF_64_BITS;
    target.fill(0, 2, 6);
    target[6] = length >>> 24;
    target[7] = length >>> 16;
    target[8] = length >>> 8;
    target[9] = length;
    at = 10;
  }
  if (key !== undefined) {
    target.set(key, at);
    at += KEY_BYTES;
  }
  target.set(payload, at);
  if (key !== undefined) applyMask(target.subarray(at, at + length), key, 0);
}

export interface FrameReaderHandler {
  /** Called with a piece of a binary message: an unmasked part of the chunk passed to `read`. */
  onPiece(onPayload: Uint8Array): void;
  onPing(payload: Uint8Array): void;
  /**
   * Called when the peer has sent a close frame. Later bytes are ignored. `code` is `CloseCode.none` if the frame has
   * no code.
   */
  onClose(code: number, reason: string): void;
}

/** A violation of the WebSocket protocol. The WebSocket must be closed with the error's code. */
export class FrameError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "FrameError";
    this.code = code;
  }
}

/**
 * Reads WebSocket frames from chunks of any size. Delivers the pieces of a message as they arrive, and stores at most a
 * frame header or a control frame.
 */
export class WebSocketFrameReader {
  /** If true, `read` returns before the next frame or piece. */
  stopped = false;
  private readonly handler: FrameReaderHandler;
  private readonly masked: boolean;
  private readonly maxMessage: number;
  private readonly head: Uint8Array = new Uint8Array(MAX_HEAD_BYTES);
  private headLength = 0;
  private headWanted = 2;
  /** Type of the frame that is being read, or undefined between frames. */
  private opcode: number | undefined = undefined;
  private payloadLength = 0;
  private payloadRead = 0;
  private control: Uint8Array = NOTHING;
  /** Number of bytes of the current message that have been read, or undefined between messages. */
  private messageBytes: number | undefined = undefined;
  private isOver = false;

  /**
   * @param masked true if the peer is the client, whose frames are masked
   * @param maxMessage maximum size of a message in bytes
   */
  constructor(handler: FrameReaderHandler, masked: boolean, maxMessage: number) {
    this.handler = handler;
    this.masked = masked;
    this.maxMessage = maxMessage;
  }

  /**
   * Reads a chunk and unmasks it in place. Returns the number of bytes read, which is less than the chunk's length if
   * `stopped` became true. Throws `FrameError`. Ignores all bytes after a `FrameError` or a close frame.
   */
  read(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && !this.stopped) {
      if (this.isOver) return chunk.length;
      at = this.opcode === undefined ? this.readHead(chunk, at) : this.readPayload(chunk, at);
    }
    return at;
  }

  private readHead(chunk: Uint8Array, from: number): number {
    let at = from;
    while (this.headLength < this.headWanted && at < chunk.length) this.head[this.headLength++] = chunk[at++] as number;
    if (this.headLength < this.headWanted) return at;
    if (this.headWanted === 2) this.headWanted = this.checkStart();
    if (this.headLength === this.headWanted) this.begin();
    return at;
  }

  /** Checks the first two bytes of a frame header, and returns the length of the header in bytes. */
  private checkStart(): number {
    const [first = 0, second = 0] = this.head;
    const opcode = first & OPCODE;
    const short = second & SHORT;
    if ((first & RESERVED) !== 0) this.fail("reserved bits are set without a negotiated extension");
    if (((second & MASK) !== 0) !== this.masked)
      this.fail(this.masked ? "a frame of the client is not masked" : "a frame of the server is masked");
    if ((opcode & CONTROL) !== 0) {
      if (opcode > Opcode.pong) this.fail(`the frame has the unknown opcode ${opcode}`);
      if ((first & FIN) === 0) this.fail("a control frame is fragmented");
      if (short > LONGEST_SHORT) this.fail("a control frame is longer than 125 bytes");
    } else if (opcode === Opcode.text) {
      this.fail("messages are binary", CloseCode.unsupportedData);
    } else if (opcode > Opcode.binary) {
      this.fail(`the frame has the unknown opcode ${opcode}`);
    } else if ((opcode === Opcode.continuation) !== (this.messageBytes !== undefined)) {
      this.fail(
        opcode === Opcode.binary ? "a message begins within another" : "a fragment does not belong to a message",
      );
    }
    const extended = short === LENGTH_OF_16_BITS ? 2 : short === LENGTH_OF_64_BITS ? 8 : 0;
    return 2 + extended + (this.masked ? KEY_BYTES : 0);
  }

  /** Starts to read a frame's payload after its header is complete. */
  private begin(): void {
    const opcode = (this.head[0] as number) & OPCODE;
    const length = this.declaredLength();
    this.headLength = 0;
    this.headWanted = 2;
    this.payloadLength = length;
    this.payloadRead = 0;
    this.opcode = opcode;
    if ((opcode & CONTROL) !== 0) {
      this.control = length === 0 ? NOTHING : new Uint8Array(length);
    } else {
      this.messageBytes = (this.messageBytes ?? 0) + length;
      if (this.messageBytes > this.maxMessage)
        this.fail(`a message is longer than ${this.maxMessage} bytes`, CloseCode.tooBig);
    }
    if (length === 0) this.end();
  }

  private declaredLength(): number {
    const { head } = this;
    const short = (head[1] as number) & SHORT;
    if (short <= LONGEST_SHORT) return short;
    const view = new DataView(head.buffer);
    const length = short === LENGTH_OF_16_BITS ? view.getUint16(2) : 2 ** 32 * view.getUint32(2) + view.getUint32(6);
    if (length <= (short === LENGTH_OF_16_BITS ? LONGEST_SHORT : 0xffff))
      this.fail("a length is not encoded in the fewest bytes");
    return length;
  }

  private readPayload(chunk: Uint8Array, at: number): number {
    const end = Math.min(chunk.length, at + this.payloadLength - this.payloadRead);
    const part = chunk.subarray(at, end);
    const isControl = ((this.opcode as number) & CONTROL) !== 0;
    if (this.masked) applyMask(part, this.key(), this.payloadRead);
    if (isControl) this.control.set(part, this.payloadRead);
    this.payloadRead += part.length;
    if (this.payloadRead === this.payloadLength) this.end();
    if (!isControl) this.handler.onPiece(part);
    return end;
  }

  private key(): MaskKey {
    const at = headBytes(this.payloadLength, false);
    return this.head.subarray(at, at + KEY_BYTES);
  }

  /** Ends the current frame after its payload is complete. */
  private end(): void {
    const { opcode, control } = this;
    this.opcode = undefined;
    this.control = NOTHING;
    if (opcode === Opcode.ping) this.handler.onPing(control);
    else if (opcode === Opcode.close) this.close(control);
    else if (opcode !== Opcode.pong && ((this.head[0] as number) & FIN) !== 0) this.messageBytes = undefined;
  }

  private close(payload: Uint8Array): void {
    if (payload.length === 0) {
      this.isOver = true;
      this.handler.onClose(CloseCode.none, "");
      return;
    }
    if (payload.length === 1) this.fail("a close frame has an incomplete code");
    const code = (payload[0] as number) * 256 + (payload[1] as number);
    if (!isSendable(code)) this.fail(`a close frame has the invalid code ${code}`);
    let reason = "";
    try {
      reason = utf8.decode(payload.subarray(2));
    } catch {
      this.fail("the reason of a close frame is not valid UTF-8", CloseCode.invalidText);
    }
    this.isOver = true;
    this.handler.onClose(code, reason);
  }

  private fail(message: string, code: number = CloseCode.protocolError): never {
    this.isOver = true;
    throw new FrameError(code, message);
  }
}

const NOTHING: Uint8Array = new Uint8Array(0);
const utf8: TextDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Returns true if a close frame may contain this code. Some codes only describe connections that ended without a close
 * frame (RFC 6455 §7.4 and its registry).
 */
function isSendable(code: number): boolean {
  if (code >= 3000) return code < 5000;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}
