import { createSession, json } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { msgpackRecords } from "@quicrpc/core/records";
import { nodeCompressions } from "../../packages/node/src/compression.js";
import { framed } from "../behaviour/raw.js";
import { RawPeer, settle } from "../../packages/core/test/raw-peer.js";
import { createFeedRouter } from "../types/generated/feed.js";
import type { Target } from "./fuzz.js";
import { bytesOf, vectors } from "./wire.js";

/** Handlers that run now. */
let running = 0;

async function* counted<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  running++;
  try {
    yield* items;
  } finally {
    running--;
  }
}

const router = createFeedRouter({
  read: ({ id }) => ({ id, body: "x".repeat(10) }),
  async *watch({ since }) {
    for (let id = 0; id < Number(since % 8n); id++) yield { id, body: "" };
  },
  async publish(posts) {
    let count = 0;
    for await (const _ of counted(posts)) count++;
    return { count };
  },
  async *talk(words) {
    for await (const word of counted(words)) yield { id: word.length, body: word };
  },
  copy: (pieces) => counted(pieces),
  seen: () => {},
});

const HELLO = "4003000001";
/** A call of each kind, and the other messages of calls on a lane. */
const requests = [
  "01 00 9fa5 01 81a2696407",
  "01 02 9fa5 02 81a573696e6365d30000000000000003",
  "01 04 9fa5 03",
  "05 04 82a2696401a4626f6479a178",
  "06 04",
  "01 06 9fa5 04",
  "05 06 a178",
  "01 08 9fa5 05",
  "05 08 01020304",
  "02 00 9fa5 06 81a2696407",
  "0b 00 0102030405060708",
  "0a 00 00",
  "07 06 01",
].map(framed);

/** Milliseconds that a session may take to end. */
const PATIENCE_MS = 5000;

/** A whole session whose peer writes the bytes on a stream: it ends when it is closed, and with it every handler. */
export const sessionTarget: Target = {
  name: "session",
  corpus: [
    bytesOf(`02 ${HELLO} ${requests.join("")}`),
    ...requests.map((request) => bytesOf(`02 ${HELLO} ${request}`)),
    ...requests.map((request) => bytesOf(`01 ${request}`)),
    ...vectors.map((frame) => Buffer.concat([bytesOf(`02 ${HELLO}`), frame])),
  ],
  async run(input, random) {
    const [theirs, ours] = createMemoryPair();
    const session = createSession(ours, {
      routers: [router],
      codecs: [json, msgpackRecords()],
      compression: { algorithms: nodeCompressions() },
      limits: { maxFrameBytes: 4096, maxDecompressedBytes: 16_384, maxCalls: 16 },
      onError: () => {},
    });
    const peer = new RawPeer(theirs);
    const stream = peer.open();
    for (let at = 0; at < input.length; ) {
      const to = at + 1 + random.below(64);
      stream.stream.write(input.slice(at, to));
      at = to;
      if (random.below(4) === 0) await Promise.resolve();
    }
    await settle();
    await inTime(session.close({ closeCode: 1 }), "the session does not end");
    await settle();
    if (running !== 0) throw new Error(`${running} handlers run on`);
    return stream.received.length / 32;
  },
};

async function inTime(ended: Promise<unknown>, fault: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(fault)), PATIENCE_MS);
  });
  await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}
