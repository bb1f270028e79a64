import type { QuicSession, QuicStream } from "../dist/index.js";
import { deferred, onSessionEvents, onStreamEvents } from "./harness.js";
import { capsule, control, headers, readFields, readFrames, readVarint, varint } from "./http3-bytes.js";

/** Bytes that have arrived on a stream, and a way to wait for more. */
export class Arrivals {
  data = Buffer.alloc(0);
  resetCode: number | undefined;
  stopCode: number | undefined;
  ended = false;
  readonly stream: QuicStream;
  #changed = deferred();

  constructor(stream: QuicStream) {
    this.stream = stream;
    const change = (): void => {
      this.#changed.resolve();
      this.#changed = deferred();
    };
    stream.attach(
      onStreamEvents({
        onData: (chunk) => {
          this.data = Buffer.concat([this.data, chunk]);
          change();
        },
        onEnd: () => {
          this.ended = true;
          change();
        },
        onStopSending: (code) => {
          this.stopCode = code;
          change();
        },
        onReset: (code) => {
          this.resetCode = code;
          change();
        },
      }),
    );
  }

  /** The first result of `look` at what has arrived that is not undefined. */
  async until<T>(look: (arrived: this) => T | undefined): Promise<T> {
    for (;;) {
      const found = look(this);
      if (found !== undefined) return found;
      await this.#changed.promise;
    }
  }
}

/** A stream of a request. */
export class Request extends Arrivals {
  /** The whole answer: its fields and its body. */
  async answer(): Promise<{ fields: Map<string, string>; body: Buffer }> {
    await this.until(({ ended, resetCode }) => {
      if (resetCode !== undefined) throw new Error(`reset ${resetCode}`);
      return ended || undefined;
    });
    const [head, ...rest] = readFrames(this.data);
    const body = Buffer.concat(rest.flatMap(([kind, payload]) => (kind === 0 ? [payload] : [])));
    return { fields: readFields(head?.[1] ?? new Uint8Array(0)), body };
  }

  /** The first frame is HEADERS. */
  answered(): Promise<Uint8Array> {
    return this.until(({ data }) => readFrames(data).find(([kind]) => kind === 1)?.[1]);
  }

  /** Capsules that carry an integer, where each has a DATA frame of its own. */
  get capsules(): [kind: number, value: number][] {
    const data = readFrames(this.data).filter(([kind]) => kind === 0);
    return data.flatMap(([, payload]) =>
      readFrames(payload).map(([kind, value]): [number, number] => [kind, readVarint(value, 0)?.[0] ?? 0]),
    );
  }

  capsule(wanted: number): Promise<number> {
    return this.until(() => this.capsules.find(([kind]) => kind === wanted)?.[1]);
  }

  send(kind: number, value: number): void {
    this.stream.write(Uint8Array.from(capsule(kind, value)));
  }
}

/** A client of HTTP/3 that says what a test tells it to, over a raw QUIC session. */
export class Http3Client {
  /** Streams that the server has opened, its control stream apart. */
  readonly streams: Arrivals[] = [];
  readonly settings: Promise<Map<number, number>>;
  readonly #session: QuicSession;
  #opened = deferred();

  /** Without `settings` it says none until `tell`. */
  constructor(session: QuicSession, settings?: Readonly<Record<number, number>>) {
    this.#session = session;
    const told = deferred<Map<number, number>>();
    this.settings = told.promise;
    const take = (stream: QuicStream): void => {
      const arrivals = new Arrivals(stream);
      void arrivals
        .until(({ data }) => readVarint(data, 0))
        .then(async ([kind, end]) => {
          if (kind === 0) {
            told.resolve(await arrivals.until(({ data }) => settingsOf(readFrames(data, end))));
            return;
          }
          this.streams.push(arrivals);
          this.#opened.resolve();
          this.#opened = deferred();
        });
    };
    session.attach(onSessionEvents({ onStream: take, onUniStream: take }));
    if (settings !== undefined) this.tell(settings);
  }

  tell(settings: Readonly<Record<number, number>>): void {
    this.#session.openUniStream().write(Uint8Array.from(control(settings)));
  }

  async opened(count: number): Promise<Arrivals[]> {
    while (this.streams.length < count) await this.#opened.promise;
    return this.streams;
  }

  /** Asks for a session, or for anything else, with frames behind its HEADERS. */
  connect(fields: Record<string, string>, frames: readonly number[] = [], end = false): Request {
    const request = new Request(this.#session.openStream());
    request.stream.write(Uint8Array.from([...headers(fields), ...frames]), end);
    return request;
  }

  /** A bidirectional stream of the session with this id. */
  open(session: number, data: Uint8Array, end = false): Arrivals {
    const arrivals = new Arrivals(this.#session.openStream());
    arrivals.stream.write(Uint8Array.from([...varint(0x41), session, ...data]), end);
    return arrivals;
  }
}

function settingsOf(frames: [number, Uint8Array][]): Map<number, number> | undefined {
  const payload = frames.find(([kind]) => kind === 4)?.[1];
  if (payload === undefined) return undefined;
  const settings = new Map<number, number>();
  for (let at = 0; at < payload.length; ) {
    const [id, middle] = readVarint(payload, at) ?? [0, payload.length];
    const [value, end] = readVarint(payload, middle) ?? [0, payload.length];
    settings.set(id, value);
    at = end;
  }
  return settings;
}
