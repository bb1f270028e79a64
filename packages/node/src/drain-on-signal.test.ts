import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type DrainOnSignalOptions, drainOnSignal } from "./drain-on-signal.js";
import type { ServerStats } from "./server.js";

const idle: ServerStats = { sessions: 0, authentications: 0, handlers: 0, outlivingHandlers: 0, heldBytes: 0 };
const tty = process.stderr.isTTY;
let said: string[] = [];

beforeEach(() => {
  said = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.spyOn(process, "emitWarning").mockImplementation((text) => void said.push(String(text)));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  process.stderr.isTTY = tty;
});

/** Creates a server whose drain ends when the test calls `drained`. */
function begun(options: DrainOnSignalOptions) {
  const order: string[] = [];
  let drained = (): void => {};
  const server = {
    drain: async () => {
      await new Promise<void>((resolve) => (drained = resolve));
      order.push("drained");
      return { unacknowledged: 0 };
    },
    close: () => {
      order.push("ended");
      return Promise.resolve({ unacknowledged: 0 });
    },
    stats: () => ({ ...idle, handlers: 1 }),
  };
  const connection = { close: () => order.push("closed") };
  const stop = drainOnSignal(server, { close: [connection], ...options });
  const [signal = "SIGINT"] = options.signals ?? [];
  process.emit(signal, signal);
  return { order, stop, end: () => drained() };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

it("closes what it is given once the server is drained, and says so where the process runs on", async () => {
  const { order, end } = begun({ signals: ["SIGUSR2"] });
  await turns();
  expect(order).toEqual([]);
  end();
  await turns();
  expect(order).toEqual(["drained", "closed"]);
  expect(process.listenerCount("SIGUSR2")).toBe(0);
  vi.advanceTimersByTime(5000);
  expect(said).toEqual([expect.stringContaining("drainOnSignal(server, { close: [connection] })")]);
});

it("takes a signal that comes twice at once for one, and a second one for what it is", () => {
  const { order, stop } = begun({ signals: ["SIGUSR2"] });
  vi.advanceTimersByTime(99);
  process.emit("SIGUSR2", "SIGUSR2");
  expect(order).toEqual([]);
  vi.advanceTimersByTime(1);
  process.emit("SIGUSR2", "SIGUSR2");
  expect(order).toEqual(["ended"]);
  stop();
});

it.each([
  { isTTY: true, shown: ["draining: 1 call in progress; Ctrl-C again ends at once\n"] },
  { isTTY: false, shown: [] },
])("says what it waits for to somebody at a terminal: $isTTY", ({ isTTY, shown }) => {
  process.stderr.isTTY = isTTY;
  const { stop } = begun({ signals: ["SIGINT"] });
  vi.advanceTimersByTime(1000);
  expect(said).toEqual(shown);
  stop();
});
