import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import type { Frame, ItemReceiver, ServedCallSettings } from "@quicrpc/core/internal";
import type { ByteBody } from "../protocol/body.js";
import { codingNamed, type ContentCoding } from "../protocol/compression.js";
import { type Envelope, ENVELOPE_COMPRESSED, FLAG_END, readEnvelopes } from "../protocol/envelope.js";
import { decompressInTurn } from "./coding-turns.js";
import { RequestBytes } from "./request-bytes.js";

/** Numbers of unread item bytes at which reading the body pauses and resumes. */
const PAUSE_AT = 256 * 1024;
const RESUME_AT = 128 * 1024;

export interface InputSettings {
  readonly codec: MessageCodec<unknown> | undefined;
  /** Name of the compression of the request's messages; undefined for none. */
  readonly coding: string | undefined;
  readonly known: readonly ContentCoding[];
  readonly settings: ServedCallSettings;
}

/**
 * Reads the envelopes of a request's body, and delivers them as the items of a call as fast as the handler reads them.
 */
export class InputReader {
  /** Reader of the body; undefined for an empty body, and until `read` is called. */
  private body: ReadableStreamDefaultReader<Uint8Array> | undefined = undefined;
  private readonly input: ItemReceiver;
  private readonly inputSettings: InputSettings;
  private unread = 0;
  private onTaken: (() => void) | undefined = undefined;
  stopped = false;

  constructor(input: ItemReceiver, inputSettings: InputSettings) {
    this.input = input;
    this.inputSettings = inputSettings;
    const flow = {
      received: (bytes: number) => void (this.unread += bytes),
      consumed: (bytes: number) => {
        this.unread -= bytes;
        if (this.unread <= RESUME_AT) this.wake();
      },
      end: () => {},
    };
    const { codec, settings } = inputSettings;
    const { budget, limits } = settings;
    input.carriedBy({ channel: { compression: undefined, budget }, receiveFlow: () => flow }, 0, codec, limits);
  }

  /**
   * Reads the body to its end. Rejects with the error with which the call fails, also if other code has locked the
   * body.
   */
  async read(body: ByteBody | null): Promise<void> {
    this.body = body?.getReader();
    const { coding, known, settings } = this.inputSettings;
    const compression = codingNamed(coding, known);
    const { maxFrameBytes, maxDecompressedBytes } = settings.limits;
    const held = new RequestBytes(settings.budget);
    const expanded = new RequestBytes(settings.budget);
    for await (const envelope of readEnvelopes(this.body, maxFrameBytes, (change) => held.change(change))) {
      try {
        const hold = (more: number): void => {
          if (this.stopped) throw new RpcError("cancelled", "the call is over");
          expanded.change(more);
        };
        if ((envelope.flags & ENVELOPE_COMPRESSED) !== 0) hold(envelope.bytes.length);
        const bytes = await envelopeMessageOf(envelope, compression, maxDecompressedBytes, hold, settings.client);
        if (this.stopped) return;
        this.input.receive(frameOf(bytes));
      } finally {
        expanded.release();
      }
      while (this.unread > PAUSE_AT && !this.stopped) await new Promise<void>((resolve) => (this.onTaken = resolve));
    }
    if (!this.stopped) this.input.end(undefined);
  }

  /** Drops the rest of the body without waiting for it: `read` then ends or rejects. */
  stop(): void {
    this.stopped = true;
    this.body?.cancel().catch(() => {});
    this.wake();
  }

  private wake(): void {
    const { onTaken } = this;
    this.onTaken = undefined;
    onTaken?.();
  }
}

/** Returns the form in which an `ItemReceiver` receives a message: a frame that contains only the message. */
function frameOf(bytes: Uint8Array): Frame {
  const { length } = bytes;
  return { type: 0, flags: 0, callId: 0, bytes, start: 0, end: length, size: length, oversized: false };
}

/**
 * Returns the message in a request's envelope. Throws `RpcError` if it has more than `maxBytes` bytes after
 * decompression.
 */
export function envelopeMessageOf(
  { flags, bytes }: Envelope,
  compression: ContentCoding | undefined,
  maxBytes: number,
  hold: (bytes: number) => void,
  client: string | undefined,
): Uint8Array | Promise<Uint8Array> {
  if ((flags & FLAG_END) !== 0) throw new RpcError("invalid_argument", "a request has no message at its end");
  if ((flags & ENVELOPE_COMPRESSED) === 0) return bytes;
  if (compression === undefined) {
    throw new RpcError("internal", "a message is compressed, and the request does not say how");
  }
  if (bytes.length === 0) return bytes;
  return decompressInTurn(client, compression, bytes, maxBytes, hold);
}
