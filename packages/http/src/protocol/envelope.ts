import { RpcError } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/transport";
import { type ByteBody, tooLarge } from "./body.js";
import { Gathered } from "./gathered.js";

/** The flag of a message that is compressed. */
export const FLAG_COMPRESSED = 1;
/** The flag of the message at the end of a stream of answers. */
export const FLAG_END = 2;

/** Bytes of flags (1) and length (4, big-endian) before each message. */
const HEAD_BYTES = 5;

/** One message of a stream, as it is sent. */
export interface Envelope {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/** Puts one message into its envelope. */
export function writeEnvelope({ flags, bytes }: Envelope): UnsharedBytes {
  const envelope = new Uint8Array(HEAD_BYTES + bytes.length);
  envelope[0] = flags;
  new DataView(envelope.buffer).setUint32(1, bytes.length);
  envelope.set(bytes, HEAD_BYTES);
  return envelope;
}

/**
 * Takes a stream of envelopes apart, whatever pieces its bytes come in. `push` a piece, then call `next` until it returns
 * undefined. A message that is too large is refused by its length, before its bytes are kept.
 */
export class EnvelopeReader {
  private readonly maxBytes: number;
  private readonly gathered: Gathered = new Gathered();
  /** Flags and length of the message that is being received. */
  private head: { readonly flags: number; readonly length: number } | undefined = undefined;

  /** @param maxBytes the most bytes of one message, as it is sent */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Whether an envelope has begun that is not complete: at the end of a body, that it was cut off. */
  get isPartial(): boolean {
    return this.gathered.length > 0 || this.head !== undefined;
  }

  /** Bytes of messages that are not complete. */
  get held(): number {
    return this.gathered.length;
  }

  push(piece: Uint8Array): void {
    this.gathered.append(piece);
  }

  /** Throws `RpcError`: `resource_exhausted` for a message that is too large, `invalid_argument` for flags that nobody has defined. */
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
    if (flags > (FLAG_COMPRESSED | FLAG_END)) {
      throw new RpcError("invalid_argument", `an envelope has the flags ${flags}, which are not known`);
    }
    if (length > this.maxBytes) throw tooLarge(this.maxBytes);
    return { flags, length };
  }
}

/**
 * Reads the envelopes of a body, one at a time: what the reader does not take, the peer keeps. Leaving the loop cancels the body. Throws as
 * `EnvelopeReader` does, and `RpcError` `invalid_argument` for a body that ends within an envelope.
 * @param hold told by how many bytes more, or fewer, are held of envelopes that were not taken; what it throws ends the reading
 */
export async function* readEnvelopes(
  body: ByteBody | null,
  maxBytes: number,
  hold: (change: number) => void = (): void => {},
): AsyncGenerator<Envelope, void> {
  if (body === null) return;
  const envelopes = new EnvelopeReader(maxBytes);
  const reader = body.getReader();
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
