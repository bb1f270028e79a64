// The programs of docs/scaling.md in processes of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createInterface, type Interface } from "node:readline";
import { connect, devCertificate } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../scripts/free-port.mjs";
import { createOrdersClient } from "../generated/orders.js";
import { programOn } from "../program.js";

/** Starts a program, which ends by `signal` with the test. Returns the lines that it prints. */
async function linesOf(port: number, file: string, signal: NodeJS.Signals): Promise<Interface> {
  const child = spawn(process.execPath, [await programOn(port, `workers/${file}`)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill(signal);
    await ended;
  });
  return createInterface({ input: child.stdout });
}

it.skipIf(process.platform !== "linux")(
  "a server has a worker for each core, all on one port",
  { timeout: 60_000 },
  async () => {
    const port = await freePort();
    const lines = await linesOf(port, "server.ts", "SIGTERM");
    const [line] = (await once(lines, "line")) as [string];
    const pids = Array.from(/workers (.*) on/.exec(line)?.[1]?.split(", ") ?? [], Number);
    expect(pids).toHaveLength(availableParallelism());
    const { hash } = await devCertificate();
    await using connection = await connect(`quic://127.0.0.1:${port}`, { serverCertificateHashes: [hash] });
    const { tea } = await createOrdersClient(connection).prices();
    expect(pids).toContain(tea);
  },
);

it.skipIf(process.platform !== "linux")(
  "a program that forks its workers itself has them on one port",
  { timeout: 60_000 },
  async () => {
    const port = await freePort();
    const lines = await linesOf(port, "forked.ts", "SIGKILL");
    const pids = new Set<number>();
    for await (const line of lines) {
      pids.add(Number(/^worker (\d+)$/.exec(line)?.[1]));
      if (pids.size === 4) break;
    }
    const { hash } = await devCertificate();
    const seen = new Set<number>();
    // As many as it takes: by chance one worker gets none of a few.
    while (seen.size < 4) {
      await using connection = await connect(`quic://127.0.0.1:${port}`, { serverCertificateHashes: [hash] });
      seen.add((await createOrdersClient(connection).prices()).tea as number);
    }
    expect(seen).toEqual(pids);
  },
);
