// What publishers and subscribers can make a server hold, and how long it is busy with them.
import { describe, it } from "vitest";
import { roomMethods } from "../rooms.js";
import { Attacker, type AttackerStream, call, FLAG_HEAD, frame, FrameKind, pause } from "./bytes.js";
import { MIB, schemes, sharedVictim, withstand } from "./harness.js";
import { pack } from "../../packages/core/dist/msgpack/pack.js";

const PEAK = 200 * MIB;
/** Bytes of history, which stays: `maxHistoryBytes`, and buffers that are kept. */
const HISTORY = 100 * MIB;
/** Milliseconds of CPU time for which another client's call may wait: one turn of deliveries, and collections of a heap that is full of history. */
const CPU = 250;
const living = sharedVictim();

const request = (id: number, method: (typeof roomMethods)[keyof typeof roomMethods], input: unknown): Uint8Array =>
  frame(FrameKind.request, id, call(method, pack(input)));

describe.each(schemes.filter((scheme) => scheme === "quic:" || scheme === "tcp:"))("over %s", (scheme) => {
  const floods: readonly (readonly [string, { reads: boolean; publishers: number; bytes: number }])[] = [
    ["read", { reads: true, publishers: 2000, bytes: 10 }],
    ["do not read", { reads: false, publishers: 2000, bytes: 10 }],
    ["do not read large messages of", { reads: false, publishers: 80, bytes: 50_000 }],
  ];
  it.each(floods)(
    "thousands of subscriptions that %s, and a burst of messages",
    async (_, { reads, publishers, bytes }) => {
      const server = await living();
      const attack = async (): Promise<void> => {
        const attacker = new Attacker(await server.transport(scheme));
        const [lane] = attacker.lanes(1) as [AttackerStream];
        for (let index = 0; index < 2000; index++)
          await lane.write(request(2 * index, roomMethods.subscribeRoom, { id: "7" }));
        await pause(500);
        if (!reads) lane.deafen();
        const text = "x".repeat(bytes);
        const burst = Array.from({ length: publishers }, (_, n) =>
          request(2 * (2000 + n), roomMethods.publishRoom, { id: "7", message: { n, text } }),
        );
        await lane.write(Buffer.concat(burst));
        await pause(3000);
        attacker.close();
      };
      await withstand(server, attack, { peak: PEAK, cpu: CPU });
    },
  );

  it("messages to topics of many names", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const attacker = new Attacker(await server.transport(scheme));
      const [lane] = attacker.lanes(1) as [AttackerStream];
      const long = "\u{1f4a3}".repeat(60);
      for (let count = 0; count < 20_000; count++) {
        const message = { n: count, text: "" };
        await lane.write(request(2 * count, roomMethods.publishLog, { id: `${long}${count}`, message }));
        if (count % 1000 === 0) await pause(20);
      }
      await pause(200);
      attacker.close();
    };
    await withstand(server, attack, { peak: PEAK, cpu: CPU, after: HISTORY });
  });

  it("thousands of subscriptions that begin with the whole history, and read none of it", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const attackers = await Promise.all(
        Array.from({ length: 4 }, async () => new Attacker(await server.transport(scheme))),
      );
      const lanes = attackers.map((attacker) => attacker.lanes(1)[0] as AttackerStream);
      const [first] = lanes as [AttackerStream];
      const message = { n: 0, text: "x".repeat(50_000) };
      for (let count = 0; count < 1000; count++) {
        await first.write(request(2 * count, roomMethods.publishLog, { id: "7", message }));
        if (count % 50 === 0) await pause(20);
      }
      await pause(500);
      for (const lane of lanes) {
        lane.deafen();
        for (let index = 0; index < 4000; index++) {
          const body = call(roomMethods.subscribeLog, [3, 0x04, 1, 0x30, ...pack({ id: "7" })]);
          await lane.write(frame(FrameKind.request | FLAG_HEAD, 2 * (2000 + index), body));
        }
        await pause(500);
      }
      await pause(1000);
      for (const attacker of attackers) attacker.close();
    };
    await withstand(server, attack, { peak: PEAK + HISTORY, cpu: CPU, after: HISTORY });
  });
});
