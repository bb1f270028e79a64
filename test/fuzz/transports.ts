import { isIP } from "node:net";
import { receiveProof } from "@quicrpc/core/proof";
import { createSession, Metadata, RpcError } from "@quicrpc/core";
import type { ByteStreamHandler } from "../../packages/core/src/transport/byte-stream.js";
import { CreditedStream } from "../../packages/core/src/transport/credited-stream.js";
import { byteStreamTransport, receiveGreeting } from "@quicrpc/core/transport";
import { parseProxyHeader } from "../../packages/node/src/listen/proxy-protocol.js";
import { FrameError, WebSocketFrameReader } from "../../packages/node/src/web-socket/frames.js";
import { settle } from "../../packages/core/test/raw-peer.js";
import type { Target } from "./fuzz.js";
import type { Random } from "./mutate.js";
import { bytesOf, vectors } from "./wire.js";

/** The input in pieces, as a network would bring them. */
function pieces(input: Uint8Array, random: Random): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < input.length; ) {
    const to = at + 1 + random.below(random.below(4) === 0 ? 2000 : 20);
    parts.push(input.slice(at, to));
    at = to;
  }
  return parts;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const SIGNATURE = "0d0a0d0a000d0a515549540a";

const proxy: Target = {
  name: "proxy-header",
  corpus: [
    utf8("PROXY TCP4 192.0.2.1 198.51.100.7 40000 443\r\nhello"),
    utf8("PROXY TCP6 2001:db8::1 2001:db8::2 40000 443\r\n"),
    utf8("PROXY UNKNOWN\r\n"),
    bytesOf(`${SIGNATURE} 21 11 000c c0000201 c6336407 9c40 01bb 010203`),
    bytesOf(`${SIGNATURE} 21 21 0027 ${"20010db8000000000000000000000001".repeat(2)} 9c40 01bb 030000`),
    bytesOf(`${SIGNATURE} 20 00 0000`),
  ],
  run(input) {
    const bytes = Buffer.from(input);
    const whole = parseProxyHeader(bytes);
    if (whole.kind !== "header") return 0;
    const { length, source } = whole;
    if (length > bytes.length || length > 4096) throw new Error(`a header of ${length} bytes`);
    if (source !== undefined && (isIP(source.host) === 0 || !(source.port >= 0 && source.port <= 65_535)))
      throw new Error(`${JSON.stringify(source)} is no address`);
    for (const end of [0, length >> 1, length - 1]) {
      if (parseProxyHeader(bytes.subarray(0, end)).kind !== "incomplete") throw new Error(`${end} bytes are enough`);
    }
    if (JSON.stringify(parseProxyHeader(bytes.subarray(0, length))) !== JSON.stringify(whole))
      throw new Error("is another with what follows");
    return 1;
  },
};

const MAX_GREETING = 1024;
const greetings = [
  "4003 00 00 01",
  "4008 00 00 01 03 03 616263",
  "400c 00 00 01 02 04 6a736f6e 01 01 02",
  "4014 00 00 01 03 01 61 05 0c 01 61 02 6f6b 03 622d62696e 01 00",
].map((hello) => bytesOf(`02 ${hello}`));

/** A byte stream whose client is under test, and the data that the server writes meanwhile. */
type Looked = Parameters<typeof receiveGreeting>[0];

/** Returns what `read` finds at the beginning of bytes that arrive in these pieces. */
async function lookedAt(
  parts: readonly Uint8Array[],
  read: (transport: Looked) => Promise<string>,
  most: number,
): Promise<string> {
  let seen: Uint8Array = new Uint8Array(0);
  let look: (bytes: Uint8Array) => boolean = () => false;
  let gone: () => void = () => {};
  const sole = {
    peek(given: typeof look, onOver: () => void) {
      look = given;
      gone = onOver;
    },
    write: () => true,
  };
  const told = read({ openStream() {}, sole } as unknown as Looked).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
    return error.code;
  });
  let wanted = true;
  for (const part of parts) {
    if (!wanted) break;
    seen = Buffer.concat([seen, part]);
    wanted = look(seen);
    if (wanted && seen.length > most) throw new Error(`${seen.length} bytes are not enough`);
  }
  if (wanted) gone();
  return told;
}

const limits = { maxGreetingBytes: MAX_GREETING };

const greetingOf = (parts: readonly Uint8Array[]): Promise<string> =>
  lookedAt(
    parts,
    async (transport) => {
      const { credentials, metadata } = await receiveGreeting(transport, { limits });
      return JSON.stringify([credentials, [...metadata]]);
    },
    MAX_GREETING + 16,
  );

/** No proof holds here: its nonce is another each time. */
const proofOf = (parts: readonly Uint8Array[]): Promise<string> =>
  lookedAt(
    parts,
    async (transport) => JSON.stringify((await receiveProof(transport, { limits })) ?? "none"),
    2 * (MAX_GREETING + 16),
  );

const proving = bytesOf("02 400a 00 00 01 03 03 616263 09 00");

const proof: Target = {
  name: "proof",
  corpus: [
    ...greetings,
    ...vectors.filter(([, , type]) => type === 0x0f).map((frame) => Buffer.concat([proving, frame])),
  ],
  async run(input, random) {
    const whole = await proofOf([input.slice(0, 2 * MAX_GREETING)]);
    const split = await proofOf(pieces(input.slice(0, 2 * MAX_GREETING), random));
    if (whole !== split) throw new Error(`${whole} as a whole, and ${split} in pieces`);
    if (whole.startsWith("{")) throw new Error("a proof holds that answers another nonce");
    return 0;
  },
};

const greeting: Target = {
  name: "greeting",
  corpus: [...greetings, ...greetings.map((each) => Buffer.concat([each, vectors[0] as Uint8Array]))],
  async run(input, random) {
    const whole = await greetingOf([input.slice(0, MAX_GREETING + 16)]);
    const split = await greetingOf(pieces(input.slice(0, MAX_GREETING + 16), random));
    if (whole !== split) throw new Error(`${whole} as a whole, and ${split} in pieces`);
    return 0;
  },
};

const WINDOW = 1024 * 1024;

/** Returns what arrives over a stream whose peer keeps to credit or does not. */
async function taken(parts: readonly Uint8Array[], takes: boolean): Promise<{ text: string; bytes: number }> {
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const sent: number[] = [];
  const writable = new WritableStream<Uint8Array>({ write: (chunk) => void sent.push(chunk.length) });
  const stream = new CreditedStream(Promise.resolve({ readable, writable }), () => {});
  const received: string[] = [];
  let bytes = 0;
  await new Promise<void>((resolve) => {
    const handler: ByteStreamHandler = {
      onData(chunk) {
        bytes += chunk.length;
        received.push(Buffer.from(chunk).toString("hex"));
      },
      onDrain() {},
      onEnd: resolve,
      onClosed: (error) => {
        received.push(` ${error?.name}`);
        if (error !== undefined && error.name !== "ProtocolError") throw error;
        resolve();
      },
    };
    stream.attach(handler);
    stream.write(new Uint8Array(100));
    if (takes) return;
    stream.pause();
    // Nothing is taken: what waits is held, within the window.
    setImmediate(() => stream.resume());
  });
  stream.destroy();
  return { text: received.join(""), bytes };
}

const credited: Target = {
  name: "credited-stream",
  corpus: [
    "01 41 03 424344",
    "00 32 01 41 00 32",
    "40ff ".concat("41".repeat(255)),
    "80100001",
    "00 00",
    "0141 0065",
  ].map(bytesOf),
  async run(input, random) {
    const whole = await taken([input], true);
    const split = await taken(pieces(input, random), random.below(2) === 0);
    if (whole.bytes > Math.min(input.length, WINDOW)) throw new Error(`${whole.bytes} bytes arrived`);
    // A failure ends it, whatever was taken before.
    const [shorter, longer] = [whole.text, split.text].sort((a, b) => a.length - b.length) as [string, string];
    const data = (text: string): string => text.split(" ", 1)[0] as string;
    if (!data(longer).startsWith(data(shorter))) throw new Error("is another in pieces");
    if (whole.text.includes("ProtocolError") !== split.text.includes("ProtocolError"))
      throw new Error("is refused only in one way");
    return 0;
  },
};

/** Returns what a client or server reads of WebSocket frames that arrive in these parts. */
function framesOf(parts: readonly Uint8Array[], masked: boolean): { text: string; bytes: number } {
  const events: string[] = [];
  let bytes = 0;
  const reader = new WebSocketFrameReader(
    {
      onPiece(piece) {
        bytes += piece.length;
        events.push(Buffer.from(piece).toString("hex"));
      },
      onPing: (payload) => void events.push(` ping ${Buffer.from(payload).toString("hex")} `),
      onClose: (code, reason) => void events.push(` close ${code} ${reason} `),
    },
    masked,
    100,
  );
  for (const part of parts) {
    try {
      if (reader.read(part.slice()) !== part.length) throw new Error("bytes are left");
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      events.push(` error ${error.code} ${error.message} `);
    }
  }
  return { text: events.join(""), bytes };
}

const webSocketFrames: Target = {
  name: "web-socket-frames",
  corpus: [
    "82 03 010203 89 01 07 82 00",
    "02 02 0102 00 01 03 8a 00 80 01 04 88 04 03e8 6f6b",
    "82 83 01020304 050607 89 80 01020304 88 82 01020304 02ea",
    "82 7e 007e ".concat("41".repeat(126)),
    "82 7f 0000000000010000",
    "81 01 41",
  ].map(bytesOf),
  async run(input, random) {
    const masked = random.below(2) === 0;
    const whole = framesOf([input], masked);
    const split = framesOf(pieces(input, random), masked);
    if (whole.text !== split.text) throw new Error(`${whole.text} as a whole, and ${split.text} in pieces`);
    if (whole.bytes > input.length) throw new Error(`${whole.bytes} bytes arrived`);
    return 0;
  },
};

const HELLO = "4003000001";
const sessionFrames = [
  "0a 00 00",
  "0a 00 01",
  "0b 00 01020304",
  "0c 00 05",
  "0d 00 07 627965",
  "02 00 dd3e 00 01 6e6f",
].map((frame) => bytesOf(`${(frame.replaceAll(" ", "").length / 2).toString(16).padStart(2, "0")} ${frame}`));

/** A session of one byte stream, at either end: it ends when it is closed, and its output is bounded. */
const soleSession: Target = {
  name: "sole-session",
  corpus: [
    ...sessionFrames.map((frame) => Buffer.concat([bytesOf(`00 02 ${HELLO}`), frame])),
    ...sessionFrames.map((frame) => Buffer.concat([bytesOf(`01 ${HELLO}`), frame])),
    ...vectors.map((frame) => Buffer.concat([bytesOf(`00 02 ${HELLO}`), frame])),
    ...vectors.map((frame) => Buffer.concat([bytesOf(`01 ${HELLO}`), frame])),
  ],
  async run(input, random) {
    let handler: ByteStreamHandler | undefined;
    let written = 0;
    const stream = {
      attach: (given: ByteStreamHandler) => void (handler = given),
      write: (bytes: Uint8Array) => {
        written += bytes.length;
        return true;
      },
      pendingBytes: () => 0,
      end: () => handler?.onEnd(),
      destroy: () => {},
      pause: () => {},
      resume: () => {},
    };
    const transport = byteStreamTransport(stream, input[0] === 1 ? "client" : "server");
    const session = createSession(transport, { onError: () => {}, metadata: new Metadata([["a", "b"]]) });
    for (const part of pieces(input.subarray(1), random)) handler?.onData(part);
    await settle();
    await session.close({ closeCode: 1 });
    if (written > 1024 + 128 * input.length) throw new Error(`${written} bytes are written`);
    return 0;
  },
};

export const transportTargets: readonly Target[] = [proxy, greeting, proof, credited, webSocketFrames, soleSession];
