import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createSession, type Session } from "@quicrpc/core";
import type { DirectSession } from "@quicrpc/core/transport";
import { devCertificate } from "@quicrpc/node";
import { Endpoint, type QuicSession } from "@quicrpc/quic";
import { z } from "zod";

const CALLS = 64;
const ROUNDS = 400;
const message = zodCodec(z.object({ n: z.int() }));
const echo = defineMethod({ name: "bench.v1.Batching", id: 2 }, "unary", "echo", {
  id: 1,
  input: message,
  output: message,
});

/**
 * Measures the cost of a call for a process with both ends, over QUIC on loopback, depending on how calls are spread
 * over turns of the event loop.
 */
export async function measureBatching(): Promise<Record<string, string | number>[]> {
  const { cert, key, hash } = await devCertificate();
  const listener = Endpoint.bind({ host: "127.0.0.1" });
  const routers = [createRouter({ echo }, { echo: (input) => input })];
  listener.listen({ alpn: ["bench"], tls: { cert, key } }, (session) => void createSession(session, { routers }));
  const { host, port } = listener.address;
  const transport = await listener.connect({ host, port, alpn: ["bench"], tls: { serverCertificateHashes: [hash] } });
  const counted = new CountedWrites(transport);
  const session = createSession(counted);

  const samples = [
    { name: `${CALLS} calls in one turn`, run: inOneTurn, cpu: [] as number[], writes: 0, packets: 0 },
    { name: `${CALLS} calls in a turn each`, run: inTurns, cpu: [] as number[], writes: 0, packets: 0 },
  ];
  // Interleaved, so that disturbances affect both alike; the first rounds warm up.
  for (let round = -50; round < ROUNDS; round++) {
    for (const sample of samples) {
      const before = { cpu: process.cpuUsage(), writes: counted.writes, packets: transport.stats().sentPackets };
      await sample.run(session);
      const { user, system } = process.cpuUsage(before.cpu);
      if (round < 0) continue;
      sample.cpu.push((user + system) / CALLS);
      sample.writes += counted.writes - before.writes;
      sample.packets += transport.stats().sentPackets - before.packets;
    }
  }
  await session.close();
  await listener.close();
  const calls = ROUNDS * CALLS;
  return samples.map(({ name, cpu, writes, packets }) => ({
    name,
    "µs of CPU per call, median": Number((cpu.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0).toFixed(2)),
    "writes per call": Number((writes / calls).toFixed(3)),
    "packets per call": Number((packets / calls).toFixed(3)),
  }));
}

async function inOneTurn(session: Session): Promise<void> {
  await Promise.all(Array.from({ length: CALLS }, (_, n) => session.unary(echo, { n })));
}

/** Makes calls that do not wait for one another. */
async function inTurns(session: Session): Promise<void> {
  const calls: Promise<unknown>[] = [];
  for (let n = 0; n < CALLS; n++) {
    calls.push(session.unary(echo, { n }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(calls);
}

/** A session that counts the writes on the streams that it opens. */
class CountedWrites implements DirectSession {
  writes = 0;
  private readonly session: QuicSession;

  constructor(session: QuicSession) {
    this.session = session;
  }

  attach(handler: Parameters<DirectSession["attach"]>[0]): void {
    this.session.attach(handler);
  }

  openStream(): ReturnType<DirectSession["openStream"]> {
    const stream = this.session.openStream();
    const write = stream.write.bind(stream);
    return Object.assign(stream, {
      write: (bytes: Uint8Array, end?: boolean) => {
        this.writes++;
        return write(bytes, end);
      },
    });
  }

  close(info?: Parameters<DirectSession["close"]>[0]): void {
    this.session.close(info);
  }
}
