// Compressed messages, small on the wire and large in memory.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";
import { deflateSync, gzipSync } from "node:zlib";
import { nodeCompressions } from "@quicrpc/node";
import { afterEach, describe, expect, it } from "vitest";
import { Attacker, type AttackerStream, call, FLAG_COMPRESSED, frame, FrameKind, pause } from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, Victim, withstand } from "./harness.js";

const PEAK = 200 * MIB;
const BOMB_BYTES = 4_190_000;
const BOMBS = 400;

let victim: Victim | undefined;
afterEach(() => victim?.stop());

/** MessagePack of zeros. */
function zeros(length: number): Buffer {
  const bytes = Buffer.alloc(5 + length);
  bytes[0] = 0xc6;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/** The same by zstd (RFC 8878 §3.1.1): a block that is stored, and blocks of one byte that is repeated. The window is one of 128 KiB. */
function zstdZeros(length: number): Buffer {
  const block = (last: boolean, type: number, size: number): Buffer => {
    const head = Buffer.alloc(3);
    head.writeUIntLE((size << 3) | (type << 1) | Number(last), 0, 3);
    return head;
  };
  const parts = [Buffer.from("28b52ffd0038", "hex"), block(false, 0, 5), zeros(length).subarray(0, 5)];
  for (let left = length; left > 0; left -= 131_072)
    parts.push(block(left <= 131_072, 1, Math.min(left, 131_072)), Buffer.of(0));
  return Buffer.concat(parts);
}

/** By algorithm: its number on the wire, and a message. */
const bombs: Readonly<Record<string, readonly [number, Buffer]>> = {
  deflate: [1, deflateSync(zeros(BOMB_BYTES))],
  gzip: [2, gzipSync(zeros(BOMB_BYTES))],
  zstd: [3, zstdZeros(BOMB_BYTES)],
};

/** A small message by algorithm, as the number of that and its output. */
const tiny: Readonly<Record<string, Buffer>> = {
  deflate: Buffer.concat([Buffer.of(1), deflateSync(Buffer.of(1))]),
  gzip: Buffer.concat([Buffer.of(2), gzipSync(Buffer.of(1))]),
  // A block of one byte that is stored.
  zstd: Buffer.concat([Buffer.of(3), Buffer.from("28b52ffd0038090000", "hex"), Buffer.of(1)]),
};

describe.each(schemes.filter((scheme) => scheme === "quic:" || scheme === "tcp:"))("over %s", (scheme) => {
  it.each(nodeCompressions().map(({ name }) => name))(
    "messages by %s that expand to megabytes, one behind the other",
    async (name) => {
      const server = await Victim.start({ schemes: [scheme], compressed: true });
      victim = server;
      const [number, bytes] = bombs[name] as readonly [number, Buffer];
      const bomb = (id: number): Uint8Array =>
        frame(
          FrameKind.request | FLAG_COMPRESSED,
          id,
          call(methods.keepBytes, Buffer.concat([Buffer.of(number), bytes])),
        );
      const attack = async (): Promise<void> => {
        const attacker = new Attacker(await server.transport(scheme));
        const [lane] = attacker.lanes(1) as [AttackerStream];
        await lane.write(Buffer.concat(Array.from({ length: BOMBS }, (_, index) => bomb(2 * index))), 20_000);
        await pause(2000);
        attacker.close();
      };
      await withstand(server, attack, { peak: PEAK, cpu: 250 });
    },
  );

  it.each(nodeCompressions().map(({ name }) => name))("floods of tiny messages by %s", async (name) => {
    const server = await Victim.start({ schemes: [scheme], compressed: true });
    victim = server;
    const message = frame(FrameKind.notify | FLAG_COMPRESSED, 0, call(methods.drop, tiny[name] ?? []));
    const burst = Buffer.concat(Array.from({ length: 10_000 }, () => message));
    const attack = async (): Promise<void> => {
      const attackers = await Promise.all(
        Array.from({ length: 4 }, async () => new Attacker(await server.transport(scheme))),
      );
      await Promise.all(
        attackers.map(async (attacker) => {
          const [lane] = attacker.lanes(1) as [AttackerStream];
          for (let count = 0; count < 2; count++) await lane.write(burst, 20_000);
        }),
      );
      await pause(1000);
      for (const attacker of attackers) attacker.close();
    };
    await withstand(server, attack, { peak: PEAK, cpu: 250 });
  });
});

it.each([
  ["messages by gzip", { "content-encoding": "gzip" }, gzipSync(Buffer.of(1))],
  ["answers by gzip", { "accept-encoding": "gzip" }, zeros(2000)],
])("floods of small %s over HTTP/2, from several addresses", async (_, fields, body) => {
  const server = await Victim.start({ schemes: ["wss:"], http: true });
  victim = server;
  const port = Number(new URL(server.url("wss:")).port);
  const head = { ":method": "POST", ":path": "/test.v1.Victim/echo", "content-type": "application/msgpack", ...fields };
  const statuses = new Set<unknown>();
  const attack = async (): Promise<void> => {
    const clients = Array.from({ length: 8 }, (_each, i) => {
      const localAddress = `127.0.0.${2 + (i % 4)}`;
      const tls = { port, host: "127.0.0.1", localAddress, rejectUnauthorized: false, ALPNProtocols: ["h2"] };
      const socket = connectTls(tls);
      return connectHttp2(server.url("wss:").replace("wss:", "https:"), { createConnection: () => socket });
    });
    await Promise.all(clients.map((client) => once(client, "remoteSettings")));
    const answers = clients.flatMap((client) =>
      Array.from({ length: 100 }, async () => {
        const stream = client.request(head);
        stream.once("response", ({ ":status": status }) => statuses.add(status));
        stream.resume().end(body);
        await once(stream, "close");
      }),
    );
    await Promise.all(answers);
    for (const client of clients) client.destroy();
  };
  await withstand(server, attack, { peak: PEAK, cpu: 250 });
  expect([...statuses]).toEqual([200]);
});
