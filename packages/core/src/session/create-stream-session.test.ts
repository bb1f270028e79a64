import { beforeEach, describe, expect, it } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { type Deferred, deferred } from "../deferred.js";
import type { RpcError } from "../errors.js";
import { createRouter } from "../server/router.js";
import { byteStreamTransport } from "../transport/byte-stream.js";
import { createMemoryPair } from "../transport/memory.js";
import type {
  CloseInfo,
  DirectSession,
  DirectStream,
  WebTransportSession,
  WebTransportStream,
} from "../transport/session.js";
import { createSession } from "./create-session.js";
import { createStreamSession } from "./create-stream-session.js";
import type { ClientSession, Session } from "./session.js";

const service = { name: "test.v1.Streams", id: 80 };
const text = uncheckedCodec<string>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  wait: defineMethod(service, "unary", "wait", { id: 2, input: text, output: text }),
  note: defineMethod(service, "notify", "note", { id: 3, input: text }),
};

const failure = (call: Promise<unknown>): Promise<RpcError> =>
  call.then(
    () => Promise.reject(new Error("the call succeeded")),
    (error: RpcError) => error,
  );

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));

const codeOf = (error: unknown): number => (error as { streamErrorCode?: number }).streamErrorCode ?? 0;

/** Converts a stream to the W3C WebTransport interface, as browsers provide it. */
function webStream(stream: DirectStream): WebTransportStream {
  let receiving!: ReadableStreamDefaultController<Uint8Array>;
  let sending!: WritableStreamDefaultController;
  let drained = deferred<void>();
  const readable = new ReadableStream<Uint8Array>({
    start: (controller) => void (receiving = controller),
    cancel: (reason) => stream.stopSending(codeOf(reason)),
  });
  const writable = new WritableStream<Uint8Array>({
    start: (controller) => void (sending = controller),
    write: (bytes) => (stream.write(bytes) ? undefined : (drained = deferred()).promise),
    close: () => void stream.write(new Uint8Array(0), true),
    abort: (reason) => stream.reset(codeOf(reason)),
  });
  const failure = (streamErrorCode: number): Error => Object.assign(new Error("reset"), { streamErrorCode });
  stream.attach({
    onData: (bytes) => receiving.enqueue(bytes.slice()),
    onEnd: () => receiving.close(),
    onReset: (code) => receiving.error(failure(code)),
    onStopSending: (code) => sending.error(failure(code)),
    onDrain: () => drained.resolve(),
    onClosed(error) {
      const lost = Object.assign(new Error("the session ended", { cause: error }), { source: "session" });
      receiving.error(lost);
      sending.error(lost);
    },
  });
  return { readable, writable };
}

/** Returns a transport session with only the members of the W3C WebTransport interface. */
function webFace(direct: DirectSession): WebTransportSession {
  const closed = deferred<CloseInfo>();
  let accept!: ReadableStreamDefaultController<WebTransportStream>;
  direct.attach({
    onStream: (stream) => accept.enqueue(webStream(stream)),
    onClosed: (info, error) => (error === undefined ? closed.resolve(info) : closed.reject(error)),
  });
  return {
    ready: Promise.resolve(),
    closed: closed.promise,
    close: (info) => direct.close(info),
    createBidirectionalStream: async () => webStream(direct.openStream()),
    incomingBidirectionalStreams: new ReadableStream({ start: (controller) => void (accept = controller) }),
  };
}

describe("a stream session", () => {
  let client: ClientSession;
  let server: Session;
  let answer: Deferred<string>;
  let noted: Deferred<string>;
  let opened: number;
  beforeEach(() => {
    const [ours, theirs] = createMemoryPair();
    answer = deferred();
    noted = deferred();
    opened = 0;
    const router = createRouter(methods, {
      echo: (input) => input,
      wait: () => answer.promise,
      note: (input) => noted.resolve(input),
    });
    server = createSession(theirs, { routers: [router] });
    const openStream = ours.openStream.bind(ours);
    client = createStreamSession(
      webFace(
        Object.assign(ours, {
          openStream: () => {
            opened++;
            return openStream();
          },
        }),
      ),
    );
  });

  it("opens a stream for each call, whatever it is asked for", async () => {
    await Promise.all(["a", "b", "c"].map((each) => client.unary(methods.echo, each, { via: "lane" })));
    await client.notify(methods.note, "d");
    expect(await noted.promise).toBe("d");
    expect(opened).toBe(4);
  });

  it("C64 lets the peer drain: calls in progress finish, no more are made, and it closes at once", async () => {
    const waiting = client.unary(methods.wait, "a");
    await client.unary(methods.echo, "b");
    const drained = server.drain();
    await client.draining;
    expect(await failure(client.unary(methods.echo, "late"))).toMatchObject({ code: "unavailable", refused: true });
    answer.resolve("done");
    expect(await waiting).toBe("done");
    expect(await drained).toMatchObject({ closeCode: 0, error: undefined });
    expect(await client.closed).toMatchObject({ closeCode: 0 });
  });

  it("refuses the peer's calls, on lanes and streams, and answers its pings", async () => {
    expect(await failure(server.unary(methods.echo, "a", { via: "lane" }))).toMatchObject({
      code: "unimplemented",
      refused: true,
    });
    expect(await failure(server.unary(methods.echo, "a", { via: "stream" }))).toMatchObject({ code: "unimplemented" });
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
    expect(await client.unary(methods.echo, "lives")).toBe("lives");
  });

  it("delivers notifications before it closes", async () => {
    await client.notify(methods.note, "last");
    await client.close();
    expect(await noted.promise).toBe("last");
  });

  it("tells what was not acknowledged, when the time is up", async () => {
    const [here, there] = createMemoryPair();
    there.attach({ onStream: () => {}, onClosed: () => {} });
    const session = createStreamSession(webFace(here));
    for (let i = 0; i < 3; i++) await session.notify(methods.note, "x");
    expect(session.unacknowledged).toBe(3);
    expect(await session.close({ timeoutMs: 10 })).toMatchObject({ closeCode: 0, unacknowledged: 3 });
  });

  it("takes no transport of one byte stream", () => {
    const bytes = {
      attach() {},
      write: () => true,
      pendingBytes: () => 0,
      end() {},
      destroy() {},
      pause() {},
      resume() {},
    };
    // @ts-expect-error -- only W3C sessions
    expect(() => createStreamSession(byteStreamTransport(bytes, "client"))).toThrow(TypeError);
  });
});

describe("a stream session and a peer of bytes", () => {
  /**
   * Sends `bytes` to the session on a new stream. Returns the bytes that the session sends back, in hexadecimal, and
   * the code with which it resets the stream.
   */
  async function answersTo(bytes: string, frames: number): Promise<{ said: string; code: number | undefined }> {
    const [ours, theirs] = createMemoryPair();
    createStreamSession(webFace(ours));
    theirs.attach({ onStream() {}, onClosed() {} });
    const stream: DirectStream = theirs.openStream();
    const { promise, resolve } = deferred<{ said: string; code: number | undefined }>();
    let said = "";
    stream.attach({
      onData(chunk) {
        said += hex(chunk);
        if (said.length >= frames * 2) resolve({ said, code: undefined });
      },
      onEnd() {},
      onReset: (code) => resolve({ said, code }),
      onStopSending() {},
      onDrain() {},
      onClosed() {},
    });
    stream.write(fromHex(bytes));
    return promise;
  }

  it("greets on a lane", async () => {
    expect(await answersTo("02 03000001", 1)).toEqual({ said: "4003000001", code: undefined });
  });

  it.each([
    ["an answer to a call that was never made", "02 03000001 03 03 01 c0"],
    ["a frame of an unknown type", "02 03000001 02 0f 00"],
    ["no hello", "02 02 0b 00"],
  ])("C61 gives up a lane with %s", async (_, bytes) => {
    expect((await answersTo(bytes, Number.POSITIVE_INFINITY)).code).toBe(0x20);
  });
});
