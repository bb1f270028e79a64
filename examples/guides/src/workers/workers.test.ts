// The programs of docs/scaling.md in processes of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { connect, devCertificate } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../scripts/free-port.mjs";
import { createOrdersClient } from "../generated/orders.js";
import { programOn } from "../program.js";

it.skipIf(process.platform !== "linux")(
  "a server has a worker for each core, all on one port",
  { timeout: 60_000 },
  async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [await programOn(port, "workers/server.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    onTestFinished(async () => {
      child.kill("SIGTERM");
      await ended;
    });
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
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
    const child = spawn(process.execPath, [await programOn(port, "workers/forked.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await ended;
    });
    const pids = new Set<number>();
    for await (const line of createInterface({ input: child.stdout })) {
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
