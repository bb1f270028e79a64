import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import type { QuicSession } from "../dist/index.js";
import { ALPN, deferred, DRIVERS, echo, Endpoint, onSessionEvents, selectivePath, World } from "./harness.js";

/** Far below the idle timeout of 30 s. */
const SOON_MS = 8000;

/** How a session ends whose application waits for its peer. */
function endOf(session: QuicSession): Promise<Error | undefined> {
  const { promise, resolve } = deferred<Error | undefined>();
  session.attach(onSessionEvents({ waits: () => true, onClosed: (_info, error) => resolve(error) }));
  return promise;
}

const isLong = (packet: Buffer): boolean => (packet[0] as number) >= 0x80;

describe.each(DRIVERS)("a server that forgets a session, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("before the handshake is confirmed is noticed although the congestion window is full", async () => {
    const port = await freePort();
    const bind = (): Endpoint => {
      const endpoint = Endpoint.bind({ host: "127.0.0.1", port, driver, secret: new Uint8Array(32).fill(7) });
      onTestFinished(() => endpoint.close());
      return endpoint;
    };
    const server = bind();
    let stage: "handshake" | "away" | "back" = "handshake";
    let answered = false;
    let repeated = 0;
    const onlyRepeats = deferred();
    // The client's first flight passes and the server's, and nothing after them until the next server is there.
    const path = await selectivePath(
      port,
      (packet) => {
        if (stage === "away" && isLong(packet) && ++repeated === 6) onlyRepeats.resolve();
        return stage === "back" || (stage === "handshake" && !answered);
      },
      (packet) => {
        answered = true;
        // The first server's farewell may still be on its way: its headers are long, a reset's is short.
        return stage === "handshake" || (stage === "back" && !isLong(packet));
      },
    );
    onTestFinished(() => path.close());
    await world.serve(echo);
    const { certificate: tls } = world;
    server.listen({ alpn: ALPN, tls }, () => expect.unreachable("the handshake was completed"));
    const client = await world.bind().connect({
      host: "127.0.0.1",
      port: path.port,
      alpn: ALPN,
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: tls.hash }] },
    });
    const end = endOf(client);
    stage = "away";
    client.openStream().write(new Uint8Array(1_000_000));
    await server.close();
    // By then the window is full, and all that leaves are packets of the handshake.
    await onlyRepeats.promise;
    const next = bind();
    next.listen({ alpn: ALPN, tls }, echo);
    stage = "back";
    // oxlint-disable-next-line eslint/no-restricted-globals -- ends a test that fails
    const late = setTimeout(() => client.close({ closeCode: 9, reason: "nothing was noticed" }), SOON_MS);
    onTestFinished(() => clearTimeout(late));
    expect((await end)?.message).toContain("stateless reset");
  });
});
