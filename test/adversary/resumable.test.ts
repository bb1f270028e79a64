// What a peer can make a server hold by calls that outlive their sessions.
import { describe, it, vi } from "vitest";
import {
  Attacker,
  type AttackerStream,
  attempt,
  FLAG_HEAD,
  frame,
  FrameKind,
  ownStream,
  pause,
  piece,
  uint,
} from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, sharedVictim, withstand } from "./harness.js";

const PEAK = 200 * MIB;
const living = sharedVictim();

vi.setConfig({ testTimeout: 120_000 });

const request = (id: number): Uint8Array =>
  frame(FrameKind.request | FLAG_HEAD, id, attempt(methods.live, { keepMs: 1000 }));
const item = (id: number, body: readonly number[]): Uint8Array => frame(FrameKind.item, id, body);

describe.each(schemes.filter((scheme) => scheme === "quic:" || scheme === "tcp:"))("over %s", (scheme) => {
  it("bursts that are acknowledged but for a byte", async () => {
    const server = await living();
    const attack = async (): Promise<void> => {
      const attacker = new Attacker(await server.transport(scheme));
      const [lane] = attacker.lanes(1) as [AttackerStream];
      const burst = ownStream(methods.live, uint(250));
      for (let first = 0; first < 4000; first += 50) {
        const ids = Array.from({ length: 50 }, (_, index) => 2 * (first + index));
        await lane.write(Buffer.concat(ids.flatMap((id) => [request(id), item(id, piece(0, burst))])));
        await pause(30);
        await lane.write(Buffer.concat(ids.map((id) => item(id, piece(250 * 1024)))));
        await pause(10);
      }
      attacker.close();
    };
    await withstand(server, attack, { peak: PEAK });
  });
});
