import type { Endpoint, HttpRequest, QuicSession, QuicStream, StreamHandler } from "@quicrpc/quic";
import { pattern } from "./scenarios.js";

export const ALPN = "interop";
const CHUNK = 65_536;
/** Beyond the limit Chromium rejects `createBidirectionalStream` instead of waiting. */
const STREAMS = 256;

/** Obeys the commands of README.md, over raw QUIC and WebTransport, through the direct interface. */
export function serve(endpoint: Endpoint, tls: { cert: string; key: string }): void {
  const last = new LastClose();
  const onRequest = ({ path }: { path: string }): { status: number } => ({
    status: path.startsWith("/status/") ? Number(path.slice("/status/".length)) : 200,
  });
  const transport = { maxStreams: STREAMS };
  endpoint.listen({ alpn: [ALPN], tls, webTransport: { onRequest }, onHttpRequest, transport }, (session) => {
    let watched = false;
    session.attach({
      onStream: (stream) =>
        stream.attach(
          new Commands(session, stream, last, () => {
            watched = true;
          }),
        ),
      onUniStream: (stream) =>
        readAll(stream, (all) => {
          session.openUniStream().write(all.subarray(all.indexOf(10) + 1), true);
        }),
      onDatagram: (bytes) => void session.datagrams.send(bytes),
      onClosed: ({ closeCode, reason }) => {
        if (watched) last.set(`${closeCode} ${reason}`);
      },
    });
  });
}

/** Answers with the body and the trailer `x-sum` of the request. */
function onHttpRequest(request: HttpRequest): void {
  let sum = "";
  request.respond(200);
  readAll(
    request.stream,
    (all) => {
      request.stream.write(all);
      request.end({ "x-sum": sum });
    },
    (trailers) => {
      sum = new Map(trailers).get("x-sum") ?? "";
    },
  );
}

/** How the session of the last "watchclose" ended, for whoever asks, now or then. */
class LastClose {
  #text: string | undefined;
  #asking: ((text: string) => void) | undefined;

  set(text: string): void {
    this.#text = text;
    this.#asking?.(text);
  }

  tell(asking: (text: string) => void): void {
    if (this.#text === undefined) this.#asking = asking;
    else asking(this.#text);
  }

  clear(): void {
    this.#text = undefined;
    this.#asking = undefined;
  }
}

class Commands implements StreamHandler {
  readonly #session: QuicSession;
  readonly #stream: QuicStream;
  readonly #last: LastClose;
  readonly #watch: () => void;
  #command: string[] | undefined;
  #line = Buffer.alloc(0);
  #received = 0;
  #wrong = false;
  #toSend: Uint8Array | undefined;

  constructor(session: QuicSession, stream: QuicStream, last: LastClose, watch: () => void) {
    this.#session = session;
    this.#stream = stream;
    this.#last = last;
    this.#watch = watch;
  }

  onData(chunk: Uint8Array): void {
    if (this.#command !== undefined) {
      this.#body(chunk);
      return;
    }
    this.#line = Buffer.concat([this.#line, chunk]);
    const end = this.#line.indexOf("\n");
    if (end < 0) return;
    const [, name = "", number = "", rest = ""] =
      /^(\S*) ?(\S*) ?(.*)$/.exec(this.#line.toString("utf8", 0, end)) ?? [];
    this.#command = [name, number, rest];
    this.#begin(name, Number(number), rest);
    this.#body(this.#line.subarray(end + 1));
  }

  #begin(name: string, number: number, rest: string): void {
    const stream = this.#stream;
    if (name === "send") {
      this.#toSend = pattern(number);
      this.#sendMore();
    } else if (name === "reset") {
      stream.write(bytes("x"));
      stream.reset(number);
    } else if (name === "stop") {
      stream.stopSending(number);
      stream.write(bytes(""), true);
    } else if (name === "watch" || name === "stopped") stream.write(bytes("ok\n"));
    else if (name === "open") {
      const opened = this.#session.openStream();
      opened.write(bytes("hello"), true);
      readAll(opened, (all) => void stream.write(all, true));
    } else if (name === "close") this.#session.close({ closeCode: number, reason: rest });
    else if (name === "watchclose") {
      this.#last.clear();
      this.#watch();
      stream.write(bytes("ok\n"), true);
    } else if (name === "last") this.#last.tell((text) => void stream.write(bytes(text), true));
  }

  #body(chunk: Uint8Array): void {
    const command = this.#command?.[0];
    if (command === "echo" && chunk.length > 0 && !this.#stream.write(chunk)) this.#stream.pause();
    if (command === "count") this.#wrong ||= chunk.some((byte, index) => byte !== (this.#received + index) % 251);
    this.#received += chunk.length;
  }

  #sendMore(): void {
    while (this.#toSend !== undefined) {
      const chunk = this.#toSend.subarray(0, CHUNK);
      const rest = this.#toSend.subarray(CHUNK);
      this.#toSend = rest.length === 0 ? undefined : rest;
      if (!this.#stream.write(chunk, rest.length === 0)) return;
    }
  }

  onEnd(): void {
    const command = this.#command?.[0];
    if (command === "echo") this.#stream.write(bytes(""), true);
    if (command === "count") this.#stream.write(bytes(this.#wrong ? "wrong bytes" : String(this.#received)), true);
  }

  onReset(code: number): void {
    if (this.#command?.[0] === "watch") this.#stream.write(bytes(`reset ${code}`), true);
  }

  onStopSending(code: number): void {
    if (this.#command?.[0] === "stopped") this.#session.openUniStream().write(bytes(`stop ${code}`), true);
  }

  onDrain(): void {
    if (this.#toSend === undefined) this.#stream.resume();
    else this.#sendMore();
  }

  onClosed(): void {}
}

function readAll(
  stream: QuicStream,
  done: (all: Uint8Array) => void,
  onTrailers: StreamHandler["onTrailers"] = () => {},
): void {
  const chunks: Uint8Array[] = [];
  stream.attach({
    onData: (chunk) => void chunks.push(chunk),
    onTrailers,
    onEnd: () => done(Buffer.concat(chunks)),
    onReset() {},
    onStopSending() {},
    onDrain() {},
    onClosed() {},
  });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
