import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { QuicSession, QuicStream, WebTransportSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { bytes, deferred, DRIVERS, onSessionEvents, onStreamEvents, World } from "./harness.js";

/** The peer's streams: what each received, and the code that it was reset with. */
function resets(session: QuicSession): (count: number) => Promise<string[]> {
  const seen: string[] = [];
  let changed = deferred();
  const take = (stream: QuicStream): void => {
    let received = "";
    stream.attach(
      onStreamEvents({
        onData: (chunk) => (received += Buffer.from(chunk).toString()),
        onReset: (code) => {
          seen.push(`${received} ${code}`);
          changed.resolve();
          changed = deferred();
        },
      }),
    );
  };
  session.attach(onSessionEvents({ onStream: take, onUniStream: take }));
  return async (count) => {
    while (seen.length < count) await changed.promise;
    return seen;
  };
}

describe.each(DRIVERS)("streams of a session that are reset at once, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  async function pair(): Promise<[WebTransportSession, WebTransportSession]> {
    world.certificate = await certificate();
    const server = world.bind();
    const served = deferred<WebTransportSession>();
    const transport = { maxStreams: 2, maxUniStreams: 4 };
    server.listen({ tls: world.certificate, webTransport: {}, transport }, (session) =>
      served.resolve(session as WebTransportSession),
    );
    const hashes = [{ algorithm: "sha-256" as const, value: world.certificate.hash }];
    const client = await world
      .bind()
      .connectWebTransport(`https://127.0.0.1:${server.address.port}/`, { tls: { serverCertificateHashes: hashes } });
    return [client, await served.promise];
  }

  test.each(["client", "server"])("their session is known, and their code, when the %s opens them", async (side) => {
    const [client, server] = await pair();
    const [opener, peer] = side === "client" ? [client, server] : [server, client];
    const seen = resets(peer);
    const [bidirectional, unidirectional] = [opener.openStream(), opener.openUniStream()];
    bidirectional.reset(7);
    unidirectional.write(bytes("nobody waits for this"));
    unidirectional.reset(8);
    expect([...(await seen(2))].sort()).toEqual([" 7", " 8"]);
  });

  test("one that is reset while it waits for the peer's limit too", async () => {
    const [client, server] = await pair();
    const seen = resets(server);
    // The other place is that of the session itself.
    const first = client.openStream();
    first.write(bytes("a"));
    client.openStream().reset(3);
    first.reset(9);
    first.stopSending(9);
    expect((await seen(2))[1]).toBe(" 3");
  });
});
