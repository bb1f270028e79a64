// Packets made by hand for workers that share a UDP port.
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import type { Session } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, dial } from "@quicrpc/node";
import { afterEach, describe, expect, it } from "vitest";
import { startProgram } from "../child-program.js";
import { pause } from "./bytes.js";
import { cpuTimeOf, schemes } from "./harness.js";

const PROGRAM = new URL("../../packages/node/test/forked-workers.program.ts", import.meta.url);
const SIZE = 3;
const HOST = "127.0.0.1";
const LISTEN = `quic://${HOST}:0`;
const pid = defineMethod({ name: "test.v1.Forked", id: 7052 }, "unary", "pid", {
  id: 1,
  output: uncheckedCodec<number>(),
});

let child: ChildProcess | undefined;
afterEach(async () => {
  if (child?.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
});

const long = (type: number, version: number, id: Uint8Array, size: number): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = 0xc0 | (type << 4);
  head.writeUInt32BE(version, 1);
  const start = Buffer.concat([head, Buffer.of(id.length), id, Buffer.of(8), randomBytes(8)]);
  return Buffer.concat([start, randomBytes(Math.max(0, size - start.length))]);
};

const kinds: readonly (readonly [string, (index: number) => Buffer])[] = [
  [
    "short headers for each place",
    (index) => Buffer.concat([Buffer.of(0x40 | (index & 0x3f), index & 0xff), randomBytes(60)]),
  ],
  ["Initial packets that choose one worker", () => long(0, 1, Buffer.alloc(8, 0), 1200)],
  [
    "long headers whose id has the length of this server's",
    (index) => long(index % 4, 1, Buffer.concat([Buffer.of(index & 0xff), randomBytes(8)]), 1200),
  ],
  ["unknown versions", (index) => long(index % 4, 0x1a2a3a4a, randomBytes(index % 21), 1200)],
  ["pieces of headers", (index) => randomBytes(index % 40)],
];

describe.skipIf(!schemes.includes("quic:") || process.platform !== "linux").each(["kernel", "relay"])(
  "steering by the %s",
  (steering) => {
    it("sessions of all workers go on, and answers have at most three times as many bytes", async () => {
      const { cert, key, hash } = await devCertificate();
      const started = await startProgram<{ ports: [number]; pids: number[] }>(PROGRAM, {
        steering,
        size: SIZE,
        shared: { listen: LISTEN, places: SIZE + 1 },
        served: { listen: LISTEN, tls: { cert, key } },
      });
      child = started.child;
      const {
        ports: [port],
        pids,
      } = started.message;
      const sessions = new Map<number, Session>();
      while (sessions.size < SIZE) {
        const session = await dial(`quic://${HOST}:${port}`, { serverCertificateHashes: [hash] });
        sessions.set(await session.unary(pid, undefined), session);
      }
      for (const [name, packet] of kinds) {
        const socket = createSocket("udp4").on("error", () => {});
        let [sent, received] = [0, 0];
        socket.on("message", (answer) => (received += answer.length));
        let most = 0;
        for (let turn = 0; turn < 100; turn++) {
          for (let index = 0; index < 100; index++) {
            const datagram = packet(100 * turn + index);
            sent += datagram.length;
            socket.send(datagram, port, HOST);
          }
          await pause(1);
          if (turn % 10 > 0) continue;
          for (const [worker, session] of sessions) {
            const before = cpuTimeOf(worker);
            expect(await session.unary(pid, undefined, { timeoutMs: 5000 })).toBe(worker);
            most = Math.max(most, cpuTimeOf(worker) - before);
          }
        }
        await pause(100);
        expect(received, `bytes of answers to ${name}`).toBeLessThan(3 * sent);
        expect(most, `milliseconds of CPU time of a call during ${name}`).toBeLessThanOrEqual(250);
        socket.close();
      }
      const fresh = await dial(`quic://${HOST}:${port}`, { serverCertificateHashes: [hash] });
      expect(pids).toContain(await fresh.unary(pid, undefined));
      await Promise.all([fresh, ...sessions.values()].map((session) => session.close()));
    });
  },
);
