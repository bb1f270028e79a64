import type { DirectSession, DirectStream, DirectStreamHandler } from "@quicrpc/core/transport";

/** The frame that a lane begins with, both ways, in hex. */
export const HELLO = "4003 00 00 01";
/** The same of a side that serves, with default limits: it takes 4,096 calls at once. */
export const SERVER_HELLO = "4007 00 00 01 0d 02 5000";
/** The code of streams, and of sessions that are one, whose peer does not keep to the protocol. */
export const PROTOCOL_ERROR = 0x20;

/** The other end of a session under test: opens streams, writes any bytes and sees what comes back. */
export class RawPeer {
  readonly accepted: RawStream[] = [];
  closed = false;
  private readonly session: DirectSession;
  /** The only stream, of a session that is a byte stream. */
  private readonly sole: RawStream | undefined;
  private waiting: ((stream: RawStream) => void)[] = [];

  constructor(session: DirectSession) {
    this.session = session;
    if (session.sole !== undefined) {
      this.sole = new RawStream(session.sole);
      this.accepted.push(this.sole);
    }
    session.attach({
      onStream: (stream) => {
        const raw = new RawStream(stream);
        this.accepted.push(raw);
        for (const resolve of this.waiting.splice(0)) resolve(raw);
      },
      onClosed: () => {
        this.closed = true;
      },
    });
  }

  /** Another stream; of a byte stream the only one. */
  open(): RawStream {
    return this.sole ?? new RawStream(this.session.openStream());
  }

  /** The first stream that the session under test opens. */
  async first(): Promise<RawStream> {
    return this.accepted[0] ?? new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Ends the stream after what was written: a byte stream without the close that should come first. */
  finish(stream: RawStream): void {
    if (this.session.sole === undefined) stream.stream.write(new Uint8Array(0), true);
    else this.session.sole.lose(new Error("the test ends it"));
  }

  close(): void {
    this.session.close();
  }
}

export class RawStream implements DirectStreamHandler {
  readonly stream: DirectStream;
  received = "";
  ended = false;
  resetCode: number | undefined;
  stopCode: number | undefined;
  private waiting: (() => void)[] = [];

  constructor(stream: DirectStream) {
    this.stream = stream;
    stream.attach(this);
  }

  /** Sends hex, in which spaces do not count. */
  write(hex: string, end = false): this {
    this.stream.write(new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex")), end);
    return this;
  }

  /** The same in process; returns when it has been delivered and answered. */
  async send(hex: string, end = false): Promise<this> {
    this.write(hex, end);
    await settle();
    return this;
  }

  /** Resolves when what has arrived passes the test. */
  async until(test: (stream: this) => boolean): Promise<this> {
    while (!test(this)) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this;
  }

  /** Resolves when the hex has arrived, in which spaces do not count. */
  untilReceived(hex: string): Promise<this> {
    const wanted = hex.replaceAll(" ", "");
    return this.until(({ received }) => received.includes(wanted));
  }

  onData(chunk: Uint8Array): void {
    this.received += Buffer.from(chunk).toString("hex");
    this.changed();
  }

  onEnd(): void {
    this.ended = true;
    this.changed();
  }

  onReset(code: number): void {
    this.resetCode = code;
    this.changed();
  }

  onStopSending(code: number): void {
    this.stopCode = code;
    this.changed();
  }

  onDrain(): void {}

  onClosed(): void {}

  private changed(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** Lets every microtask run that the ones before it queued: in-process sessions use nothing else. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
