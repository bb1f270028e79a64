import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { QuicSession, QuicStream, WebTransportSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { deferred, DRIVERS, onSessionEvents, onStreamEvents, World } from "./harness.js";
import { CONNECT, CONTROL, frame, headers, varint } from "./http3-bytes.js";

/** The first bytes of a bidirectional stream of session 0. */
const HEADER = [...varint(0x41), 0];
/** The control stream of a server that has sessions (SETTINGS_ENABLE_WEBTRANSPORT). */
const SERVER_CONTROL = [0, ...frame(4, [8, 1, 0x33, 1, 0xab, 0x60, 0x37, 0x42, 1])];

/** Keeps the order in which a session receives events of its streams: each stream's events are one entry. */
class Log {
  readonly streams: string[][] = [];
  private readonly waiting = new Set<() => void>();

  constructor(session: QuicSession) {
    session.attach(
      onSessionEvents({
        onStream: (stream) => {
          const events: string[] = [];
          this.streams.push(events);
          const note = (event: string): void => {
            events.push(event);
            for (const check of this.waiting) check();
          };
          stream.attach(
            onStreamEvents({
              onData: (chunk) => note(Buffer.from(chunk).toString()),
              onReset: () => note("reset"),
              onStopSending: () => note("stop"),
              onEnd: () => note("end"),
            }),
          );
        },
      }),
    );
  }

  /** Resolves once some stream has received this. */
  until(event: string): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!this.streams.flat().includes(event)) return;
        this.waiting.delete(check);
        resolve();
      };
      this.waiting.add(check);
      check();
    });
  }
}

describe.each(DRIVERS)("streams that the peer cancels, %s driver", (driver) => {
  let world: World;
  beforeEach(async () => {
    world = new World(driver);
    world.certificate = await certificate();
  });
  afterEach(() => world.close());

  /** A server's session, and a client that writes its HTTP/3 by hand. */
  async function server(): Promise<[WebTransportSession, QuicSession]> {
    const endpoint = world.bind();
    const accepted = deferred<WebTransportSession>();
    endpoint.listen({ tls: world.certificate, webTransport: {} }, (session) =>
      accepted.resolve(session as WebTransportSession),
    );
    const peer = await world.dial(endpoint, { alpn: ["h3"] });
    peer.openUniStream().write(Uint8Array.from(CONTROL));
    peer.openStream().write(Uint8Array.from(headers(CONNECT)));
    return [await accepted.promise, peer];
  }

  /** A client's session, and a server that writes its HTTP/3 by hand. */
  async function client(): Promise<[WebTransportSession, QuicSession]> {
    const endpoint = world.bind();
    const accepted = deferred<QuicSession>();
    endpoint.listen({ tls: world.certificate, alpn: ["h3"] }, (peer) => {
      peer.openUniStream().write(Uint8Array.from(SERVER_CONTROL));
      peer.attach(
        onSessionEvents({
          onUniStream: (stream) => stream.attach(onStreamEvents({})),
          // The request's own bytes do not matter.
          onStream: (stream) => {
            stream.attach(onStreamEvents({}));
            stream.write(Uint8Array.from(frame(1, [0, 0, 0xd9])));
          },
        }),
      );
      accepted.resolve(peer);
    });
    const session = await world.bind().connectWebTransport(`https://127.0.0.1:${endpoint.address.port}/`, {
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: world.certificate.hash }] },
    });
    return [session, await accepted.promise];
  }

  const cancels: Record<string, (stream: QuicStream) => void> = {
    stop: (stream) => stream.stopSending(1),
    reset: (stream) => stream.reset(1),
    both: (stream) => {
      stream.stopSending(1);
      stream.reset(1);
    },
  };

  test("a request that is stopped before its answer is no session", async () => {
    const endpoint = world.bind();
    const asked = deferred<AbortSignal>();
    endpoint.listen(
      {
        tls: world.certificate,
        webTransport: {
          onRequest: ({ signal }) => {
            asked.resolve(signal);
            return new Promise(() => {});
          },
        },
      },
      () => expect.unreachable(),
    );
    const peer = await world.dial(endpoint, { alpn: ["h3"] });
    peer.openUniStream().write(Uint8Array.from(CONTROL));
    const request = peer.openStream();
    request.write(Uint8Array.from(headers(CONNECT)));
    const signal = await asked.promise;
    request.stopSending(1);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    peer.close();
  });

  describe.each([
    ["server", server],
    ["client", client],
  ])("of a %s", (_, start) => {
    test.each([
      ["stop", "before", 0, ["stop", "x"]],
      ["stop", "within", 2, ["stop", "x"]],
      ["stop", "right after", HEADER.length, ["stop", "x"]],
      ["stop", "long after", HEADER.length + 1, ["x", "stop"]],
      ["reset", "before", 0, undefined],
      ["reset", "within", 2, undefined],
      ["reset", "right after", HEADER.length, ["reset"]],
      ["reset", "long after", HEADER.length + 1, ["x", "reset"]],
      ["both", "before", 0, undefined],
      ["both", "within", 2, undefined],
      ["both", "right after", HEADER.length, ["stop", "reset"]],
      ["both", "long after", HEADER.length + 1, ["x", "stop", "reset"]],
    ])("%s %s the header", async (cancel, _when, sent, expected) => {
      const [session, peer] = await start();
      const log = new Log(session);
      let settled = 0;
      /** Waits until everything that was sent before has arrived. */
      const settle = async (): Promise<void> => {
        const name = `settled ${settled++}`;
        peer.openStream().write(Uint8Array.from([...HEADER, ...Buffer.from(name)]));
        await log.until(name);
      };
      const stream = peer.openStream();
      stream.attach(onStreamEvents({}));
      const whole = Uint8Array.from([...HEADER, ...Buffer.from("x")]);
      if (sent > 0) stream.write(whole.subarray(0, sent));
      await settle();
      (cancels[cancel] as (stream: QuicStream) => void)(stream);
      await settle();
      // Nothing is sent behind a reset.
      stream.write(whole.subarray(sent), true);
      await settle();
      const events = log.streams.filter((events) => !events.some((event) => event.startsWith("settled")));
      expect(events.map((each) => each.filter((event) => event !== "end"))).toEqual(
        expected === undefined ? [] : [expected],
      );
      peer.close();
    });
  });
});
