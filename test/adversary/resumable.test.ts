// What a peer can make a server hold, or take from others, by calls that outlive their sessions.
import { randomBytes } from "node:crypto";
import { devCertificate } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { describe, expect, it, vi } from "vitest";
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
import { MIB, schemes, sharedVictim, Victim, withstand } from "./harness.js";

const PEAK = 200 * MIB;
const living = sharedVictim();

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

it.skipIf(!schemes.includes("quic:"))(
  "one address with many sessions takes no places of the suspended calls of another",
  async () => {
    const { hash } = await devCertificate();
    const server = await Victim.start({ schemes: ["quic:"], limits: { maxSuspendedCalls: 64 } });
    const [client, other] = ["127.0.0.1", "127.0.0.2"].map((host) => Endpoint.bind({ host })) as [Endpoint, Endpoint];
    const begin = async (
      endpoint: Endpoint,
      tokens: readonly Buffer<ArrayBuffer>[],
      epoch = 0,
    ): Promise<[Attacker, AttackerStream]> => {
      const { hostname: host, port } = new URL(server.url("quic:"));
      const tls = { serverCertificateHashes: [hash] };
      const attacker = new Attacker(await endpoint.connect({ host, port: Number(port), alpn: ["quicrpc/1"], tls }));
      const [lane] = attacker.lanes(1) as [AttackerStream];
      for (const [index, token] of tokens.entries()) {
        const body = attempt(methods.live, { token, epoch });
        await lane.write(frame(FrameKind.request | FLAG_HEAD, 2 * index, body));
        if (epoch === 0) await lane.write(item(2 * index, piece(0, ownStream(methods.live, uint(1)))));
      }
      await vi.waitFor(() => expect(lane.received).toBeGreaterThan(1024 * tokens.length));
      return [attacker, lane];
    };
    try {
      const tokens = [randomBytes(16), randomBytes(16)];
      const [first] = await begin(client, tokens);
      first.close();
      await vi.waitFor(async () => expect(await server.measure()).toMatchObject({ sessions: 0, handlers: 2 }));
      for (let count = 0; count < 100; count++) {
        const [attacker] = await begin(other, [randomBytes(16)]);
        attacker.close();
      }
      await vi.waitFor(async () => expect(await server.measure()).toMatchObject({ sessions: 0, handlers: 64 }));
      await begin(client, tokens, 1);
    } finally {
      await Promise.all([client.close(), other.close(), server.stop()]);
    }
  },
);
