// No imports: the page in the browser loads this file as it is.

/** The members of a W3C WebTransport session that a scenario needs. Sessions of raw QUIC have them too. */
export interface Session {
  createBidirectionalStream(): Promise<Bidirectional>;
  createUnidirectionalStream(): Promise<WritableStream<Uint8Array>>;
  readonly incomingBidirectionalStreams: ReadableStream<Bidirectional>;
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  readonly datagrams: {
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable?: WritableStream<Uint8Array>;
    createWritable?(): WritableStream<Uint8Array>;
  };
  readonly closed: Promise<{ closeCode?: number; reason?: string }>;
  close(info?: { closeCode?: number; reason?: string }): void;
}

interface Bidirectional {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

export interface Client {
  /** A session that is ready. */
  connect(path: string, options?: { wrongHash?: boolean }): Promise<Session>;
  /** Posts `body` with the trailer `x-sum` to `/requests`. A page cannot. */
  post?(body: Uint8Array, sum: string): Promise<{ body: Uint8Array; sum: string | undefined }>;
  /** Makes the error that aborts a stream with a code. */
  failure(streamErrorCode: number): unknown;
  /** Whether the error of a refused session has its status. */
  readonly tellsStatus: boolean;
}

const SIZE = 10 * 2 ** 20;
const STREAMS = 200;
const REQUESTS = 100;

/** Bytes to transfer: byte n is n mod 251. */
export function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

/** Each with the name that peers and the table know it by. */
export const scenarios: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  handshake: (client) => withSession(client, async (session) => expect(await ask(session, "echo\nhello"), "hello")),
  hash: async (client) => {
    await withSession(client, async () => {});
    const wrong = await client.connect("/", { wrongHash: true }).catch(() => undefined);
    if (wrong === undefined) return;
    wrong.close();
    throw new Error("a wrong hash was accepted");
  },
  reject: async (client) => {
    const accepted = await client.connect("/status/403").catch((error: unknown) => {
      if (client.tellsStatus) expect((error as { status?: number }).status, 403);
    });
    if (accepted === undefined) return;
    accepted.close();
    throw new Error("the session was accepted");
  },
  requests: async (client) => {
    const post = client.post?.bind(client);
    if (post === undefined) throw new Error("the client makes no requests");
    const answers = Array.from({ length: REQUESTS }, (_, index) => post(pattern(index * 500), `sum ${index}`));
    for (const [index, { body, sum }] of (await Promise.all(answers)).entries()) {
      expect(`${decode(body)}, ${sum}`, `${decode(pattern(index * 500))}, sum ${index}`);
    }
  },
  streams: (client) =>
    withSession(client, async (session) => {
      const texts = Array.from({ length: STREAMS }, (_, index) => `${index}.`.repeat(300));
      const answers = await Promise.all(texts.map((text) => ask(session, `echo\n${text}`)));
      answers.forEach((answer, index) => expect(answer, texts[index]));
    }),
  upload: (client) =>
    withSession(client, async (session) => {
      const { readable, writable } = await session.createBidirectionalStream();
      const writer = writable.getWriter();
      const all = pattern(SIZE);
      await writer.write(encode("count\n"));
      for (let at = 0; at < SIZE; at += 65_536) await writer.write(all.subarray(at, at + 65_536));
      await writer.close();
      expect(await new Incoming(readable).text(), String(SIZE));
    }),
  download: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, `send ${SIZE}\n`, true);
      const all = await stream.incoming.rest();
      expect(all.length, SIZE);
      const wrong = all.findIndex((byte, index) => byte !== index % 251);
      if (wrong >= 0) throw new Error(`wrong from byte ${wrong}`);
    }),
  uni: (client) =>
    withSession(client, async (session) => {
      await send(await session.createUnidirectionalStream(), "echo\none way");
      expect(await uniText(session), "one way");
    }),
  opened: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, "open\n", true);
      const theirs = await first(session.incomingBidirectionalStreams);
      expect(await new Incoming(theirs.readable).text(), "hello");
      await send(theirs.writable, "hello back");
      expect(await stream.incoming.text(), "hello back");
    }),
  reset_sent: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, "watch\n");
      expect(await stream.incoming.line(), "ok");
      await stream.writer.abort(client.failure(77)).catch(() => {});
      expect(await stream.incoming.text(), "reset 77");
    }),
  reset_received: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, "reset 78\n", true);
      expect(await codeOf(stream.incoming.rest()), 78);
    }),
  stop_sent: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, "stopped\n");
      expect(await stream.incoming.line(), "ok");
      await stream.incoming.cancel(client.failure(79));
      expect(await uniText(session), "stop 79");
    }),
  stop_received: (client) =>
    withSession(client, async (session) => {
      const stream = await begin(session, "stop 80\n");
      expect(await codeOf(stream.writer.closed), 80);
    }),
  datagrams: (client) =>
    withSession(client, async (session) => {
      const { datagrams } = session;
      const writer = (datagrams.writable ?? datagrams.createWritable?.())?.getWriter();
      const answer = first(datagrams.readable).then(decode);
      // They may be lost.
      const timer = setInterval(() => void writer?.write(encode("ping")).catch(() => {}), 50);
      expect(await answer.finally(() => clearInterval(timer)), "ping");
    }),
  close_received: async (client) => {
    const session = await client.connect("/");
    const stream = await begin(session, "close 4000000000 tschüß\n", true);
    stream.incoming.rest().catch(() => {});
    const { closeCode, reason } = await session.closed;
    expect(`${closeCode} ${reason}`, "4000000000 tschüß");
  },
  close_sent: async (client) => {
    const session = await client.connect("/");
    const stream = await begin(session, "watchclose\n");
    expect(await stream.incoming.line(), "ok");
    stream.writer.closed.catch(() => {});
    session.close({ closeCode: 81, reason: "bye" });
    await withSession(client, async (other) => expect(await ask(other, "last\n"), "81 bye"));
  },
};

/** One receiving side: lines, then the rest. */
class Incoming {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #left: Uint8Array = new Uint8Array(0);

  constructor(readable: ReadableStream<Uint8Array>) {
    this.#reader = readable.getReader();
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#left.indexOf(10);
      if (end >= 0) {
        const line = decode(this.#left.subarray(0, end));
        this.#left = this.#left.subarray(end + 1);
        return line;
      }
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`no line, but ${JSON.stringify(decode(this.#left))}`);
      this.#left = join([this.#left, value]);
    }
  }

  async rest(): Promise<Uint8Array> {
    const chunks = [this.#left];
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return join(chunks);
      chunks.push(value);
    }
  }

  async text(): Promise<string> {
    return decode(await this.rest());
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}

async function withSession(client: Client, use: (session: Session) => Promise<void>): Promise<void> {
  const session = await client.connect("/");
  try {
    await use(session);
  } finally {
    session.close();
  }
}

async function begin(
  session: Session,
  command: string,
  end = false,
): Promise<{ incoming: Incoming; writer: WritableStreamDefaultWriter<Uint8Array> }> {
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  writer.closed.catch(() => {});
  await writer.write(encode(command));
  if (end) writer.close().catch(() => {});
  return { incoming: new Incoming(readable), writer };
}

async function ask(session: Session, command: string): Promise<string> {
  const { incoming } = await begin(session, command, true);
  return incoming.text();
}

async function send(writable: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = writable.getWriter();
  await writer.write(encode(text));
  await writer.close();
}

async function uniText(session: Session): Promise<string> {
  return new Incoming(await first(session.incomingUnidirectionalStreams)).text();
}

async function first<T>(stream: ReadableStream<T>): Promise<T> {
  const { done, value } = await stream.getReader().read();
  if (done) throw new Error("the session ended before");
  return value;
}

/** The code that a stream fails with. */
async function codeOf(outcome: Promise<unknown>): Promise<unknown> {
  try {
    await outcome;
  } catch (error) {
    return (error as { streamErrorCode?: number }).streamErrorCode;
  }
  throw new Error("the stream ended without a code");
}

function expect(seen: unknown, wanted: unknown): void {
  if (seen === wanted) return;
  const show = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 80);
  throw new Error(`expected ${show(wanted)}, got ${show(seen)}`);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
