import type { Fetch, FetchInit } from "../packages/http/src/client/options.js";
import type { DevCertificate } from "@quicrpc/node";
import { connect, type QuicSession, type QuicStream } from "@quicrpc/quic";
import { control, headers as headersFrame, readFields, readVarint, varint } from "../packages/quic/test/http3-bytes.js";

const HEADERS = 1;
const REQUEST_CANCELLED = 0x10c;
const HIGH_WATER = 65_536;

/** A `fetch` over HTTP/3 with one connection for each origin, as far as tests need it. The server's certificate has this hash. */
export function http3Fetch(hash: DevCertificate["hash"]): Fetch & { close(): void } {
  const sessions = new Map<string, Promise<QuicSession>>();
  const dial = async ({ hostname, port }: URL): Promise<QuicSession> => {
    const tls = { serverCertificateHashes: [hash] };
    const session = await connect({ host: hostname, port: Number(port), alpn: ["h3"], tls });
    session.attach({
      onStream: (stream) => stream.reset(0),
      // The server's control stream.
      onUniStream: (stream) => stream.attach(new Ignored()),
      onClosed: () => {},
    });
    session.openUniStream().write(Uint8Array.from(control({})));
    // SETTINGS leave first: a large request would use up the credit of a connection whose requests cannot be read yet.
    await new Promise(setImmediate);
    return session;
  };
  const fetch = async (given: string, init: FetchInit): Promise<Response> => {
    init.signal.throwIfAborted();
    const url = new URL(given);
    const session = sessions.get(url.origin) ?? dial(url);
    sessions.set(url.origin, session);
    const open = await session;
    init.signal.throwIfAborted();
    const opened = open.openStream();
    return new Promise((resolve, reject) => new Exchange(opened, url, init, resolve, reject).start());
  };
  return Object.assign(fetch, {
    close() {
      for (const session of sessions.values())
        void session.then(
          (open) => open.close(),
          () => {},
        );
    },
  });
}

class Ignored {
  onData(): void {}
  onEnd(): void {}
  onReset(): void {}
  onStopSending(): void {}
  onDrain(): void {}
  onClosed(): void {}
}

/** One request and its answer. */
class Exchange {
  private body: ReadableStreamDefaultController<Uint8Array> | undefined;
  private upload: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private drained: (() => void) | undefined;
  private over = false;
  /** Bytes before the payload of a frame, or a whole HEADERS. */
  private rest: Uint8Array = new Uint8Array(0);
  /** Bytes of the payload of DATA that have not come. */
  private left = 0;
  private readonly stream: QuicStream;
  private readonly url: URL;
  private readonly init: FetchInit;
  private readonly resolve: (response: Response) => void;
  private readonly reject: (error: unknown) => void;

  constructor(
    stream: QuicStream,
    url: URL,
    init: FetchInit,
    resolve: (response: Response) => void,
    reject: (error: unknown) => void,
  ) {
    this.stream = stream;
    this.url = url;
    this.init = init;
    this.resolve = resolve;
    this.reject = reject;
  }

  start(): void {
    const { stream, url, init } = this;
    const abort = (): void => this.fail(init.signal.reason);
    init.signal.addEventListener("abort", abort);
    const leave = (): void => init.signal.removeEventListener("abort", abort);
    const lost = (why: string): void => {
      leave();
      this.fail(new TypeError("fetch failed", { cause: new Error(why) }));
    };
    stream.attach({
      onData: (chunk) => this.take(chunk),
      onEnd: () => {
        leave();
        this.over = true;
        this.body?.close();
        this.upload?.cancel().catch(() => {});
      },
      onReset: (code) => lost(`the server has reset the stream with ${code}`),
      onStopSending: () => {
        this.upload?.cancel().catch(() => {});
        this.drained?.();
      },
      onDrain: () => this.drained?.(),
      onClosed: (error) => lost(String(error ?? "the connection has closed")),
    });
    const { body, method } = init;
    const fields = {
      ":method": method,
      ":scheme": "https",
      ":authority": url.host,
      ":path": `${url.pathname}${url.search}`,
      "accept-encoding": "gzip",
      ...Object.fromEntries(init.headers),
    };
    const head = headersFrame(fields);
    if (body instanceof ReadableStream) {
      stream.write(Uint8Array.from(head));
      void this.send(body);
      return;
    }
    const bytes = body ?? new Uint8Array(0);
    stream.write(Uint8Array.from([...head, 0, ...varint(bytes.length)]));
    stream.write(bytes, true);
  }

  private async send(body: ReadableStream<Uint8Array>): Promise<void> {
    const { stream } = this;
    this.upload = body.getReader();
    try {
      for (let read = await this.upload.read(); !read.done; read = await this.upload.read()) {
        stream.write(Uint8Array.from([0, ...varint(read.value.length)]));
        if (stream.write(read.value) || this.over) continue;
        await new Promise<void>((resolve) => (this.drained = resolve));
      }
      if (!this.over) stream.write(new Uint8Array(0), true);
    } catch (error) {
      this.fail(error);
    }
  }

  private take(chunk: Uint8Array): void {
    let input: Uint8Array = chunk.slice();
    for (;;) {
      const part = input.subarray(0, this.left);
      this.left -= part.length;
      if (part.length > 0) this.body?.enqueue(part);
      this.rest = Buffer.concat([this.rest, input.subarray(part.length)]);
      const [kind, middle] = readVarint(this.rest, 0) ?? [0, -1];
      const [length, start] = (middle < 0 ? undefined : readVarint(this.rest, middle)) ?? [0, -1];
      if (this.left > 0 || start < 0 || (kind === HEADERS && this.rest.length < start + length)) break;
      input = this.rest.subarray(start);
      this.rest = new Uint8Array(0);
      if (kind === HEADERS) {
        this.answer(readFields(input.subarray(0, length)));
        input = input.subarray(length);
      } else this.left = length;
    }
    if ((this.body?.desiredSize ?? 1) <= 0) this.stream.pause();
  }

  private answer(fields: ReadonlyMap<string, string>): void {
    const headers = new Headers([...fields].filter(([name]) => !name.startsWith(":")));
    const status = Number(fields.get(":status"));
    const raw = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.body = controller),
        pull: () => this.stream.resume(),
        cancel: (reason) => this.fail(reason ?? new Error("the answer is not wanted")),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER }),
    );
    const gunzip = new DecompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>;
    const body = headers.get("content-encoding") === "gzip" ? raw.pipeThrough(gunzip) : raw;
    const isEmpty = status === 204 || status === 304;
    this.resolve(new Response(isEmpty ? null : body, { status, headers }));
  }

  /** Ends both directions, unless the answer has ended by itself. */
  private fail(reason: unknown): void {
    this.upload?.cancel(reason).catch(() => {});
    if (this.over) return;
    this.over = true;
    this.drained?.();
    this.reject(reason);
    this.body?.error(reason);
    this.stream.reset(REQUEST_CANCELLED);
    this.stream.stopSending(REQUEST_CANCELLED);
  }
}
