import { RpcError } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import { messageTooLarge } from "./body.js";
import { Gathered } from "./gathered.js";

export const ENVELOPE_COMPRESSED = 1;
/** Flag of the envelope with the last message of a response stream. */
export const FLAG_END = 2;

/** Bytes of an envelope's header: flags (1) and length of the message (4, big-endian). */
const HEAD_BYTES = 5;

export interface Envelope {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

export function writeEnvelope({ flags, bytes }: Envelope): UnsharedBytes {
  const { length } = bytes;
  const envelope = new Uint8Array(HEAD_BYTES + length);
  envelope[0] = flags;
  // Without a DataView: V8 keeps a small array inside its heap, and would have to allocate a buffer for it.
  for (let at = HEAD_BYTES - 1, rest = length; rest > 0; at--, rest >>>= 8) envelope[at] = rest;
  envelope.set(bytes, HEAD_BYTES);
  return envelope;
}

/**
 * Splits the bytes of a stream, which arrive in pieces of any size, into envelopes. Call `push` with a piece, then
 * `next` until it returns undefined. A message that is too large is refused by its declared length, before its bytes
 * are kept.
 */
export class EnvelopeReader {
  private readonly maxBytes: number;
  private readonly known: number;
  private readonly gathered: Gathered = new Gathered();
  /** Flags and length of the message that has not arrived completely. */
  private head: { readonly flags: number; readonly length: number } | undefined = undefined;

  /**
   * @param maxBytes most bytes of one message, before decompression
   * @param known the flags that an envelope may have
   */
  constructor(maxBytes: number, known: number = ENVELOPE_COMPRESSED | FLAG_END) {
    this.maxBytes = maxBytes;
    this.known = known;
  }

  /**
   * True if the last envelope has not arrived completely. At the end of a body, this means that the body was truncated.
   */
  get isPartial(): boolean {
    return this.gathered.length > 0 || this.head !== undefined;
  }

  /** Number of bytes in the buffer that no envelope has been made from. */
  get held(): number {
    return this.gathered.length;
  }

  push(piece: Uint8Array): void {
    this.gathered.append(piece);
  }

  /**
   * Returns the next complete envelope; undefined if more bytes are needed. Throws `RpcError`: `resource_exhausted` for
   * a message that is too large, `invalid_argument` for unknown flags.
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
    let length = 0;
    for (let at = 1; at < HEAD_BYTES; at++) length = length * 256 + (head[at] as number);
    if ((flags & ~this.known) !== 0) {
      throw new RpcError("invalid_argument", `an envelope has the flags ${flags}, which are not known`);
    }
    if (length > this.maxBytes) throw messageTooLarge(this.maxBytes);
    return { flags, length };
  }
}

/** Yields the envelopes of a complete body. Throws `RpcError` as `readEnvelopes` does. */
export function* envelopesIn(body: Uint8Array, maxBytes: number): Generator<Envelope, void> {
  const envelopes = new EnvelopeReader(maxBytes);
  envelopes.push(body);
  for (let envelope = envelopes.next(); envelope !== undefined; envelope = envelopes.next()) yield envelope;
  if (envelopes.isPartial) throw partialEnvelope();
}

function partialEnvelope(): RpcError {
  return new RpcError("invalid_argument", "the stream ends within a message");
}

/**
 * Yields the envelopes of a body one at a time, and reads no more than it needs, so that the peer keeps the rest.
 * Leaving the loop cancels the body. Throws `RpcError`: `resource_exhausted` for a message that is too large,
 * `invalid_argument` for unknown flags and if the body ends inside an envelope.
 *
 * @param hold called with the change in the number of buffered bytes; if it throws, reading ends
 */
export async function* readEnvelopes(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  maxBytes: number,
  hold: (change: number) => void = (): void => {},
): AsyncGenerator<Envelope, void> {
  if (reader === undefined) return;
  const envelopes = new EnvelopeReader(maxBytes);
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
    if (envelopes.isPartial) throw partialEnvelope();
  } finally {
    if (held > 0) hold(-held);
    await reader.cancel().catch(() => {});
  }
}
