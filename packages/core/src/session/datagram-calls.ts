import type { CarrierSettings, NotificationCarrier, RequestHandler } from "../call/carrier.js";
import type { SessionFormat } from "../call/session-format.js";
import { type Invocation, writeNotification } from "../client/invoke.js";
import { fullName } from "../contract/descriptor.js";
import { ProtocolError, RpcError } from "../errors.js";
import type { Datagrams } from "../transport/session.js";
import { DatagramKind, type Frame, FrameType } from "../wire/frame.js";
import { FrameReader } from "../wire/reader.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/varint.js";
import { FrameWriter } from "../wire/writer.js";

/** The notifications of a session that travel as datagrams: prefix | kind (varint) | one notify frame. */
export class DatagramCalls {
  private readonly datagrams: Datagrams | undefined;
  private readonly settings: CarrierSettings;
  private readonly requests: RequestHandler;
  private readonly onForeign: ((bytes: Uint8Array) => void) | undefined;

  /** @param onForeign takes datagrams of another protocol */
  constructor(
    datagrams: Datagrams | undefined,
    settings: CarrierSettings,
    requests: RequestHandler,
    onForeign: ((bytes: Uint8Array) => void) | undefined,
  ) {
    this.datagrams = datagrams;
    this.settings = settings;
    this.requests = requests;
    this.onForeign = onForeign;
  }

  /**
   * Sends a notification, unless no datagram can carry it: then it returns false, or throws `RpcError` where the caller wants
   * no other way.
   */
  notify(invocation: Invocation, input: unknown): boolean {
    const problem = this.send(invocation, input);
    if (problem === undefined) return true;
    if (invocation.options?.fallback === "none") throw problem;
    return false;
  }

  /** A datagram of the peer's. What cannot be read is as good as lost. */
  onDatagram(bytes: Uint8Array): void {
    const { prefix } = this.settings;
    const start = prefix.length;
    if (bytes.length <= start || prefix.some((byte, at) => byte !== bytes[at])) {
      this.onForeign?.(bytes);
      return;
    }
    const frames = start + varintLengthFromFirstByte(bytes[start] as number);
    if (bytes.length < frames) return;
    try {
      if (readVarint(bytes, start) === DatagramKind.Notify) this.read(bytes, frames);
      else this.onForeign?.(bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }

  private send(invocation: Invocation, input: unknown): RpcError | undefined {
    const name = fullName(invocation.method);
    if (this.datagrams === undefined) {
      return new RpcError("unimplemented", `${name} goes by datagram, and this session has none`);
    }
    // A writer of its own: the encoder runs user code, which may notify as well.
    const out = new FrameWriter(256);
    out.bytes(this.settings.prefix);
    out.varint(DatagramKind.Notify);
    writeNotification(out, invocation, this.settings.format, input);
    const { maxSize } = this.datagrams;
    if (out.position > maxSize) {
      const text = `${name} makes a datagram of ${out.position} bytes, and this session carries ${maxSize}`;
      return new RpcError("resource_exhausted", text);
    }
    // Dropped at once is lost as well.
    this.datagrams.send(out.written());
    return undefined;
  }

  private read(bytes: Uint8Array, start: number): void {
    const { limits, formats } = this.settings;
    const reader = new FrameReader(limits.maxFrameBytes, { usedBytes: 0, maxBytes: bytes.length });
    reader.push(bytes, start, (frame: Frame) => {
      // One frame, and nothing after it.
      reader.stop();
      if (frame.type !== FrameType.Notify || frame.end < bytes.length) return;
      const carrier: NotificationCarrier & { peerFormat: SessionFormat | undefined } = {
        peerFormat: undefined,
        readIn(codec) {
          this.peerFormat = formats.find(codec);
        },
      };
      this.requests.onNotify(carrier, frame);
    });
  }
}
