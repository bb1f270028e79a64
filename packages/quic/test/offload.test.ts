import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Endpoint } from "../dist/index.js";
import { ALPN, DRIVERS, echo, readAll, World } from "./harness.js";

afterEach(() => {
  delete process.env["QUICRPC_OFFLOAD"];
});

/** As on a system where each datagram takes a system call of its own. */
describe.each(DRIVERS)("without offload, %s driver", (driver) => {
  const world = new World(driver);
  afterAll(() => world.close());

  async function session() {
    process.env["QUICRPC_OFFLOAD"] = "0";
    const server = await world.serve(echo);
    const client = Endpoint.bind({ host: "127.0.0.1", driver });
    const tls = { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }] };
    const session = await client.connect({ host: "127.0.0.1", port: server.address.port, alpn: ALPN, tls });
    return { session, close: () => client.close() };
  }

  test("megabytes arrive as they were sent", async () => {
    const { session: sender, close } = await session();
    const sent = Buffer.alloc(4 << 20, "0123456789");
    const stream = sender.openStream();
    const received = readAll(stream);
    stream.write(sent, true);
    expect((await received).equals(sent)).toBe(true);
    await close();
  });

  test("so do hundreds of streams at once", async () => {
    const { session: sender, close } = await session();
    const echoes = Array.from({ length: 300 }, async (_, index) => {
      const stream = sender.openStream();
      const received = readAll(stream);
      stream.write(Buffer.from(String(index)), true);
      return String(await received);
    });
    expect(await Promise.all(echoes)).toEqual(echoes.map((_, index) => String(index)));
    await close();
  });
});

test("QUICRPC_OFFLOAD must be 1 or 0", () => {
  process.env["QUICRPC_OFFLOAD"] = "no";
  expect(() => Endpoint.bind()).toThrow('QUICRPC_OFFLOAD must be 1 or 0, not "no"');
});
