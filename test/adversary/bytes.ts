// Bytes that an attacker writes (docs/protocol.md §3), and functions that write many of them.
import { randomBytes } from "node:crypto";
import type { DirectSession, DirectStream } from "@quicrpc/core/transport";

const LANE = 0x02;
const HELLO = [0x40, 0x03, 0x00, 0x00, 0x01];

/** The bit of a frame's type that says that a head precedes the body. */
export const FLAG_HEAD = 0x10;
/** The bit of a frame's type that says that the message is compressed. */
export const FLAG_COMPRESSED = 0x20;

export const FrameKind = { request: 1, notify: 2, item: 5, cancel: 7, ping: 11 } as const;

/** A varint of four bytes. */
function four(n: number): number[] {
  return [0x80 | (n >>> 24), (n >>> 16) & 0xff, (n >>> 8) & 0xff, n & 0xff];
}

/** Makes a frame; `length` is its declared length, if that differs from the real one. */
export function frame(type: number, id: number, body: Uint8Array | readonly number[], length?: number): Uint8Array {
  const header = [type, ...four(id)];
  const start = [...four(length ?? header.length + body.length), ...header];
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}

/** A method of a service whose id takes two bytes. */
interface Called {
  readonly id: number;
  readonly service: { readonly id: number };
}

/** The body of a request or notification. */
export function call({ id, service }: Called, payload: Uint8Array | readonly number[] = []): Uint8Array {
  const body = new Uint8Array(3 + payload.length);
  body.set([service.id >>> 8, service.id & 0xff, id]);
  body.set(payload, 3);
  return body;
}

/**
 * Makes the body of a request without a payload, whose head has this many metadata entries of three bytes. Its frame's
 * type has `FLAG_HEAD`.
 */
export function callWithMetadata(method: Called, entries: number): Uint8Array {
  const metadata = Array.from({ length: entries }, () => [0x01, 0x61, 0x00]).flat();
  const fields = [0x03, ...four(metadata.length), ...metadata];
  return call(method, [...four(fields.length), ...fields]);
}

/** The request of an attempt of a resumable call. Its frame's type has `FLAG_HEAD`. */
export function attempt(method: Called, { token = randomBytes(16), epoch = 0, keepMs = 300_000 } = {}): Uint8Array {
  const resume = [...token, ...four(epoch), ...four(keepMs), 0, 0];
  return call(method, [resume.length + 2, 0x06, resume.length, ...resume]);
}

/** A piece of the stream of a resumable call. */
export function piece(acknowledged: number, bytes: Uint8Array | readonly number[] = []): number[] {
  return [...four(acknowledged), 0, ...bytes];
}

/** The first bytes of the stream of a call. */
export function ownStream(method: Called, payload?: readonly number[]): number[] {
  return [0x01, ...frame(FrameKind.request, 0, call(method, payload))];
}

/** MessagePack of an unsigned integer below 2^32. */
export function uint(n: number): number[] {
  return [0xce, n >>> 24, (n >>> 16) & 0xff, (n >>> 8) & 0xff, n & 0xff];
}

/** An attacker's session: it reads nothing unless it says so, and counts. */
export class Attacker {
  closed = false;
  private readonly session: DirectSession;
  private onClosed: (() => void)[] = [];

  constructor(session: DirectSession) {
    this.session = session;
    session.attach({
      onStream: () => {},
      onClosed: () => {
        this.closed = true;
        for (const resolve of this.onClosed) resolve();
      },
    });
  }

  /** Opens lanes: one, if the session is a byte stream. */
  lanes(count: number): AttackerStream[] {
    if (this.session.sole !== undefined) return [new AttackerStream(this.session.sole, [LANE, ...HELLO])];
    return Array.from({ length: count }, () => this.stream([LANE, ...HELLO]));
  }

  /** Does the same on as many lanes as it can open, all at once. */
  async onLanes(count: number, program: (lane: AttackerStream) => Promise<void>): Promise<void> {
    await Promise.all(this.lanes(count).map(program));
  }

  /** A stream that begins with these bytes. */
  stream(start: readonly number[]): AttackerStream {
    return new AttackerStream(this.session.openStream(), start);
  }

  close(): void {
    this.session.close();
  }
}

export class AttackerStream {
  /** The other side wants no more, or is gone. */
  over = false;
  received = 0;
  private readonly stream: DirectStream;
  private onRoom: (() => void) | undefined;

  constructor(stream: DirectStream, start: readonly number[]) {
    this.stream = stream;
    const end = (): void => {
      this.over = true;
      this.onRoom?.();
    };
    stream.attach({
      borrows: true,
      onData: (chunk) => {
        this.received += chunk.length;
      },
      onEnd: end,
      onReset: end,
      onStopSending: end,
      onDrain: () => this.onRoom?.(),
      onClosed: end,
    });
    stream.write(Uint8Array.from(start));
  }

  /** Reads nothing from now on. */
  deafen(): this {
    this.stream.pause();
    return this;
  }

  /**
   * Writes as fast as the transport accepts it. Returns false if the stream has ended, or nothing was accepted within
   * `patienceMs`.
   */
  async write(bytes: Uint8Array, patienceMs: number = 500): Promise<boolean> {
    if (this.over) return false;
    if (this.stream.write(bytes)) return true;
    const room = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), patienceMs);
      this.onRoom = () => {
        clearTimeout(timer);
        resolve(!this.over);
      };
    });
    return room;
  }
}

/** Lets the other process have its turn. */
export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
