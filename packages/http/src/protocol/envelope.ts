import { RpcError } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import { messageTooLarge } from "./body.js";
import { Gathered } from "./gathered.js";

/** Flag of a compressed message. */
export const ENVELOPE_COMPRESSED = 1;
/** Flag of the message at the end of a response stream. */
export const FLAG_END = 2;

/** Bytes of the header before each message: flags (1) and length (4, big-endian). */
const HEAD_BYTES = 5;

/** A message of a stream, in its encoded form. */
export interface Envelope {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/** Returns a message with its envelope header. */
export function writeEnvelope({ flags, bytes }: Envelope): UnsharedBytes {
  const envelope = new Uint8Array(HEAD_BYTES + bytes.length);
  envelope[0] = flags;
  new DataView(envelope.buffer).setUint32(1, bytes.length);
  envelope.set(bytes, HEAD_BYTES);
  return envelope;
}

/**
 * Splits a stream into envelopes; the stream may arrive in any pieces. Call `push` with a piece, then `next` until it
 * returns undefined. A message that is too large is refused by its declared length, before its bytes are kept.
 */
export class EnvelopeReader {
  private readonly maxBytes: number;
  private readonly known: number;
  private readonly gathered: Gathered = new Gathered();
  /** Flags and length of the message that is being received. */
  private head: { readonly flags: number; readonly length: number } | undefined = undefined;

  /**
   * @param maxBytes most bytes of one message, before decompression
   * @param known the flags that an envelope may have
   */
  constructor(maxBytes: number, known: number = ENVELOPE_COMPRESSED | FLAG_END) {
    this.maxBytes = maxBytes;
    this.known = known;
  }

  /** Whether an envelope is incomplete. At the end of a body, it means that the body was truncated. */
  get isPartial(): boolean {
    return this.gathered.length > 0 || this.head !== undefined;
  }

  /** Bytes of incomplete messages. */
  get held(): number {
    return this.gathered.length;
  }

  push(piece: Uint8Array): void {
    this.gathered.append(piece);
  }

  /**
   * Returns the next complete envelope. Throws `RpcError`: `resource_exhausted` for a message that is too large,
   * `invalid_argument` for undefined flags.
   */
  next(): Envelope | undefined {
    this.head ??= this.readHead();
    const { head } = this;
    if (head === undefined || this.gathered.length < head.length) return undefined;
    this.head = undefined;
    return { flags: head.flags, bytes: this.gathered.take(head.length) };
  }

  private readHead(): { readonly flags: number; readonly length: number } | undefined {
    if (this.gathered.length < HEAD_BYTES) return undefined;
    const head = this.gathered.take(HEAD_BYTES);
    const flags = head[0] as number;
    const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
    if ((flags & ~this.known) !== 0) {
      throw new RpcError("invalid_argument", `an envelope has the flags ${flags}, which are not known`);
    }
    if (length > this.maxBytes) throw messageTooLarge(this.maxBytes);
    return { flags, length };
  }
}

/**
 * Yields the envelopes of a body, one at a time: what is not read stays with the peer. Leaving the loop cancels the
 * body. Throws as `EnvelopeReader` does, and `RpcError` `invalid_argument` if the body ends within an envelope.
 *
 * @param hold called with the change in the number of bytes held; if it throws, reading ends
 */
export async function* readEnvelopes(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  maxBytes: number,
  hold: (change: number) => void = (): void => {},
  known?: number,
): AsyncGenerator<Envelope, void> {
  if (reader === undefined) return;
  const envelopes = new EnvelopeReader(maxBytes, known);
  let held = 0;
  const tell = (): void => {
    const change = envelopes.held - held;
    held += change;
    if (change !== 0) hold(change);
  };
  try {
    for (;;) {
      for (let envelope = envelopes.next(); envelope !== undefined; envelope = envelopes.next()) {
        tell();
        yield envelope;
      }
      const { done, value } = await reader.read();
      if (done) break;
      envelopes.push(value);
      tell();
    }
    if (envelopes.isPartial) throw new RpcError("invalid_argument", "the stream ends within a message");
  } finally {
    if (held > 0) hold(-held);
    await reader.cancel().catch(() => {});
  }
}
