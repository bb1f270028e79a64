import { lookup } from "node:dns/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ALPN, connect, type DriverName, DRIVERS, echo, World } from "./harness.js";

vi.mock("node:dns/promises", () => ({ lookup: vi.fn<typeof lookup>() }));

let world: World;
beforeEach(() => {
  world = new World(DRIVERS[0] as DriverName);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await world.close();
});

test("a dial from a fresh port leaves the endpoint before open while a dial on it resolves its name", async () => {
  const server = await world.serve(echo);
  const options = {
    port: server.address.port,
    alpn: ALPN,
    tls: { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }] },
  };
  let resolve = (_addresses: { address: string; family: number }[]): void => {};
  vi.mocked(lookup).mockReturnValue(new Promise((resolved) => (resolve = resolved)) as never);
  const first = connect({ ...options, host: "localhost" });

  vi.advanceTimersByTime(1000);
  const second = await connect({ ...options, host: "127.0.0.1", freshPort: true });
  vi.advanceTimersByTime(1000);

  resolve([{ address: "127.0.0.1", family: 4 }]);
  const session = await first;
  expect(session.localAddress.port).not.toBe(second.localAddress.port);
});
