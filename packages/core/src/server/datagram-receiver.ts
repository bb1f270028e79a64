import type { NotificationCarrier, RequestHandler } from "../call/carrier.js";
import type { SessionFormat } from "../call/messages/session-format.js";
import { ProtocolError } from "../errors.js";
import type { Limits } from "../limits.js";
import { MemoryBudget } from "../memory-budget.js";
import { DatagramKind, type Frame } from "../wire/frame.js";
import { FrameReader } from "../wire/reader.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/cursor.js";
import * as FrameType from "../wire/frame-type.js";

/** Decodes and serves notifications that arrive as datagrams: prefix | kind (varint) | one notify frame. */
export class DatagramReceiver {
  readonly #requests: RequestHandler;
  readonly #prefix: Uint8Array;
  readonly #limits: Limits;
  readonly #onForeign: ((bytes: Uint8Array) => void) | undefined;

  /** @param onForeign called with datagrams of another protocol */
  constructor(
    requests: RequestHandler,
    prefix: Uint8Array,
    limits: Limits,
    onForeign: ((bytes: Uint8Array) => void) | undefined,
  ) {
    this.#requests = requests;
    this.#prefix = prefix;
    this.#limits = limits;
    this.#onForeign = onForeign;
  }

  /** Serves the notification in a datagram. Ignores a malformed datagram, as if it were lost. */
  onDatagram(bytes: Uint8Array): void {
    const prefix = this.#prefix;
    const start = prefix.length;
    if (bytes.length <= start || prefix.some((byte, at) => byte !== bytes[at])) {
      this.#onForeign?.(bytes);
      return;
    }
    const frames = start + varintLengthFromFirstByte(bytes[start] as number);
    if (bytes.length < frames) return;
    try {
      if (readVarint(bytes, start) === DatagramKind.Notify) this.#read(bytes, frames);
      else this.#onForeign?.(bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }

  #read(bytes: Uint8Array, start: number): void {
    const requests = this.#requests;
    const reader = new FrameReader(this.#limits.maxFrameBytes, new MemoryBudget(bytes.length, "the datagram"));
    const onFrame = (frame: Frame): void => {
      // A datagram contains exactly one frame.
      reader.stop();
      if (frame.type !== FrameType.Notify || frame.end < bytes.length) return;
      const carrier: NotificationCarrier & { peerFormat: SessionFormat | undefined } = {
        peerFormat: undefined,
        readIn(codec) {
          this.peerFormat = requests.formats.find(codec);
        },
      };
      requests.onNotify(carrier, frame);
    };
    reader.push(bytes, start, { onFrame });
  }
}
