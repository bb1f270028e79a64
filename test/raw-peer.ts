import type { DirectSession, DirectStream, DirectStreamHandler } from "@quicrpc/core";

/** The other end of a session under test: opens streams, writes any bytes and sees what comes back. */
export class RawPeer {
  readonly accepted: RawStream[] = [];
  closed = false;
  private readonly session: DirectSession;

  constructor(session: DirectSession) {
    this.session = session;
    session.attach({
      onStream: (stream) => void this.accepted.push(new RawStream(stream)),
      onClosed: () => {
        this.closed = true;
      },
    });
  }

  open(): RawStream {
    return new RawStream(this.session.openStream());
  }
}

export class RawStream implements DirectStreamHandler {
  readonly stream: DirectStream;
  received = "";
  ended = false;
  resetCode: number | undefined;
  stopCode: number | undefined;

  constructor(stream: DirectStream) {
    this.stream = stream;
    stream.attach(this);
  }

  /** Sends hex, in which spaces do not count; returns when it has been delivered and answered. */
  async send(hex: string, end = false): Promise<this> {
    this.stream.write(new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex")), end);
    await settle();
    return this;
  }

  onData(chunk: Uint8Array): void {
    this.received += Buffer.from(chunk).toString("hex");
  }

  onEnd(): void {
    this.ended = true;
  }

  onReset(code: number): void {
    this.resetCode = code;
  }

  onStopSending(code: number): void {
    this.stopCode = code;
  }

  onDrain(): void {}

  onClosed(): void {}
}

/** Lets every microtask run that the ones before it queued: in-process sessions use nothing else. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
