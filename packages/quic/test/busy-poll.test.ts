import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type BindOptions, Endpoint } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { ALPN } from "./harness.js";

const ROUND_TRIPS = 2_000;

/** Echoes, on a thread of its own, so that both loops wait for each other. */
const SERVER = `
  import { parentPort, workerData } from "node:worker_threads";
  import { Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
  const endpoint = Endpoint.bind({ host: "127.0.0.1", ...workerData.bind });
  endpoint.listen({ alpn: ["test/1"], tls: workerData.tls }, (session) => session.attach({
    onStream: (stream) => stream.attach({ onData: (chunk) => stream.write(chunk), onEnd() {},
      onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {} }),
    onClosed() {},
  }));
  parentPort.postMessage(endpoint.address.port);`;

afterEach(() => {
  delete process.env["QUICRPC_BUSY_POLL"];
});

/** Calls, one after the other; then nothing goes on until this thread's loop has slept for a tenth of a second. */
async function callAndSleep(bind: BindOptions): Promise<void> {
  const { cert, key, hash } = await certificate();
  const script = new URL(`data:text/javascript,${encodeURIComponent(SERVER)}`);
  const worker = new Worker(script, { workerData: { tls: { cert, key }, bind } });
  const port = await new Promise<number>(
    (resolve, reject) => void worker.once("message", resolve).once("error", reject),
  );
  const endpoint = Endpoint.bind({ host: "127.0.0.1", ...bind });
  try {
    const tls = { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: hash }] };
    const session = await endpoint.connect({ host: "127.0.0.1", port, alpn: ALPN, tls });
    await new Promise<void>((resolve) => {
      let left = ROUND_TRIPS;
      const stream = session.openStream();
      const next = () => void (left-- > 0 ? stream.write(Uint8Array.of(1)) : resolve());
      stream.attach({ onData: next, onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {} });
      next();
    });
    const before = performance.eventLoopUtilization();
    await vi.waitUntil(() => performance.eventLoopUtilization(before).idle > 100, { interval: 50, timeout: 10_000 });
  } finally {
    await endpoint.close();
    await worker.terminate();
  }
}

// Windows has no loop driver.
const drivers = process.platform === "win32" ? (["thread"] as const) : (["loop", "thread"] as const);

describe.each(drivers)("%s driver", (driver) => {
  test.each([true, false])(
    "busyPoll %s: round trips are done, and the loop sleeps when nothing goes on",
    async (busyPoll) => {
      await callAndSleep({ driver, busyPoll });
    },
  );
});

test("QUICRPC_BUSY_POLL must be 1 or 0", () => {
  process.env["QUICRPC_BUSY_POLL"] = "always";
  expect(() => Endpoint.bind()).toThrow('QUICRPC_BUSY_POLL must be 1 or 0, not "always"');
});
