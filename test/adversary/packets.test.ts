// QUIC packets made by hand, of a client that has a connection.
import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ownStream, pause, uint } from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, sharedVictim, type Victim, withstand } from "./harness.js";
import { ack, RawQuic, varint } from "./raw-quic.js";

const PEAK = 120 * MIB;
const PROTOCOL_VIOLATION = 0x0a;
/** Packets that are sent before the other process has its turn. */
const BURST = 200;
const living = sharedVictim();
const open: RawQuic[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function connect(server: Victim): Promise<RawQuic> {
  const connection = await RawQuic.connect(Number(new URL(server.url("quic:")).port));
  open.push(connection);
  return connection;
}

const frames = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);
const repeated = (count: number, frame: (index: number) => Uint8Array): Buffer =>
  frames(...Array.from({ length: count }, (_, index) => frame(index)));
const stream = (id: number, at: number, bytes: Uint8Array): Buffer =>
  frames(Buffer.of(0x0e), varint(id), varint(at), varint(bytes.length), bytes);
const challenge = (): Buffer => frames(Buffer.of(0x1a), randomBytes(8));
const retire = (sequence: number): Buffer => frames(Buffer.of(0x19), varint(sequence));
const newId = (sequence: number, retirePriorTo: number): Buffer =>
  frames(Buffer.of(0x18), varint(sequence), varint(retirePriorTo), Buffer.of(8), randomBytes(8), randomBytes(16));

/** Runs an attack of one connection, with so many packets. */
async function flood(packets: number, packet: (index: number) => Uint8Array): Promise<void> {
  const server = await living();
  const attack = async (): Promise<void> => {
    const attacker = await connect(server);
    for (let sent = 0; sent < packets && attacker.closedWith === undefined; sent++) {
      attacker.send(packet(sent));
      if (sent % BURST === BURST - 1) await pause(2);
    }
    await pause(200);
    attacker.send(frames(Buffer.of(0x1d), varint(0), varint(0)));
    await pause(100);
  };
  await withstand(server, attack, { peak: PEAK, cpu: 250, witness: "quic:" });
}

describe.skipIf(!schemes.includes("quic:"))("packets made by hand", () => {
  it("a client of that kind is answered", async () => {
    const peer = await connect(await living());
    peer.send(stream(0, 0, Uint8Array.from(ownStream(methods.bytes, uint(100_000)))));
    await vi.waitFor(() => expect(peer.receivedBytes).toBeGreaterThan(100_000));
  });

  const floods: readonly (readonly [string, number, (index: number) => Uint8Array])[] = [
    ["path challenges", 10_000, () => repeated(100, challenge)],
    ["new connection ids that retire those before", 20_000, (index) => newId(index + 1, index + 1)],
    ["connection ids retired far ahead", 2_000, (index) => newId((index + 1) * 1000, (index + 1) * 1000)],
    ["retired connection ids", 20_000, (index) => retire(index + 1)],
    ["pings", 5_000, () => Buffer.alloc(1200, 1)],
    [
      "bytes with gaps between them",
      20_000,
      (index) =>
        repeated(40, (at) => stream(4 * (index % 50), 2 * (40 * Math.floor(index / 50) + at) + 1, Buffer.of(1))),
    ],
    [
      "bytes with gaps, from the end",
      20_000,
      (index) =>
        repeated(40, (at) =>
          stream(4 * (index % 50), 1_000_000 - 2 * (40 * Math.floor(index / 50) + at) + 1, Buffer.of(1)),
        ),
    ],
    [
      "gaps in the handshake",
      5_000,
      (index) => repeated(40, (at) => frames(Buffer.of(6), varint(2 * (40 * index + at) + 1), varint(1), Buffer.of(1))),
    ],
    [
      "streams that are reset and stopped",
      10_000,
      (index) =>
        repeated(30, (at) => {
          const id = varint((4 * (30 * index + at)) % 400);
          return frames(Buffer.of(4), id, varint(1), varint(0), Buffer.of(5), id, varint(1));
        }),
    ],
    [
      "credit",
      10_000,
      (index) =>
        repeated(100, (at) => frames(Buffer.of(0x11), varint(4 * (at % 50)), varint(2 ** 29 + 100 * index + at))),
    ],
    ["blocked", 10_000, () => repeated(200, () => frames(Buffer.of(0x14), varint(1)))],
  ];
  it.each(floods)("%s", (_, count, packet) => flood(count, packet));

  it("challenges from other addresses: at most three times the bytes are sent there that came from there", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const attacker = await connect(server);
      // What belongs to the handshake has been sent.
      await pause(200);
      // An acknowledgement would move the connection to the new address.
      attacker.acknowledges = false;
      for (let address = 0; address < 20; address++) {
        await attacker.move();
        for (let count = 0; count < 5; count++) {
          attacker.send(challenge());
          await pause(2);
        }
        await pause(20);
        expect(attacker.receivedBytes).toBeGreaterThan(0);
        expect(attacker.receivedBytes).toBeLessThanOrEqual(3 * attacker.sentBytes);
      }
      attacker.send(frames(Buffer.of(0x1d), varint(0), varint(0)));
      await pause(100);
    };
    await withstand(server, attack, { peak: PEAK, cpu: 250, witness: "quic:" });
  });

  it("acknowledgements of packets that have not arrived", async () => {
    const server = await living();
    const attacker = await connect(server);
    attacker.acknowledges = false;
    attacker.send(stream(0, 0, Uint8Array.from(ownStream(methods.bytes, uint(3_000_000)))));
    let ahead = attacker.levels.data.largest;
    for (let turn = 0; turn < 3000 && attacker.closedWith === undefined; turn++) {
      ahead = Math.max(ahead, attacker.levels.data.largest) + 1;
      attacker.send(ack(ahead, 0));
      await pause(1);
    }
    expect(attacker.closedWith).toBe(PROTOCOL_VIOLATION);
  });
});
