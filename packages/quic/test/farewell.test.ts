import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CloseInfo, QuicStream, WebTransportSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { bytes, deferred, DRIVERS, type Endpoint, onSessionEvents, onStreamEvents, World } from "./harness.js";
import { CONNECT } from "./http3-bytes.js";
import { Http3Client, type Request } from "./http3-client.js";

const SETTINGS = { 0x33: 1, 0x2b603742: 1 };
/** A page in Chromium: it names its origin, and goes by draft-02. */
const OF_PAGE = { ...CONNECT, "sec-webtransport-http3-draft02": "1", origin: "https://a" };
/** Chromium has been seen to crash until 100 ms after the stop. */
const HELD_MS = 200;

describe.each(DRIVERS)("ends of sessions that pages learn of late, %s driver", (driver) => {
  let world: World;
  beforeEach(async () => {
    world = new World(driver);
    world.certificate = await certificate();
  });
  afterEach(() => world.close());

  /**
   * A server's session that answered one stream with FIN, and the client that asked for it: the stream is `open` for more from the client, `ended` by it, or
   * `stopped` by the server.
   */
  async function opened(
    fields: Record<string, string>,
    request: "open" | "ended" | "stopped" = "stopped",
  ): Promise<Opened> {
    const endpoint = world.bind();
    const accepted = deferred<WebTransportSession>();
    const [answered, closed, lost] = [deferred(), deferred<CloseInfo>(), deferred()];
    const answer = (stream: QuicStream): void => {
      if (request === "stopped") stream.stopSending(0);
      stream.write(bytes("answer"), true);
      if (request !== "ended") answered.resolve();
    };
    endpoint.listen({ tls: world.certificate, webTransport: {} }, (session) => {
      session.attach(
        onSessionEvents({
          onStream: (stream) =>
            stream.attach(onStreamEvents({ onData: () => answer(stream), onEnd: answered.resolve })),
          onClosed: closed.resolve,
        }),
      );
      accepted.resolve(session as WebTransportSession);
    });
    const peer = await world.dial(endpoint, { alpn: ["h3"] });
    void peer.closed.finally(lost.resolve).catch(() => {});
    const client = new Http3Client(peer, SETTINGS);
    const asked = client.connect(fields);
    client.open(0, bytes("request"), request === "ended");
    const session = await accepted.promise;
    await answered.promise;
    return { endpoint, session, request: asked, closed: closed.promise, lost: lost.promise };
  }

  const told = ({ request }: Opened): Promise<true> =>
    request.until(({ data }) => (data.includes("farewell") ? true : undefined));

  test("a page of which a stream just ended learns of it later than others, and the server at once", async () => {
    const page = await opened(OF_PAGE);
    const others = [
      await opened(OF_PAGE, "open"),
      await opened({ ...CONNECT, origin: "https://a" }),
      await opened({ ...CONNECT, "sec-webtransport-http3-draft02": "1" }),
    ];
    const again = await opened(OF_PAGE, "ended");
    const began = performance.now();
    const order: string[] = [];
    const ends = [page, again, ...others].map(async (one) => {
      one.session.close({ closeCode: 7, reason: "farewell" });
      expect(await one.closed).toEqual({ closeCode: 7, reason: "farewell" });
      order.push("server");
      await told(one);
      order.push(one === page || one === again ? "page" : "other");
    });
    await Promise.all(ends);
    expect(order.slice(-2)).toEqual(["page", "page"]);
    expect(performance.now() - began).toBeGreaterThan(HELD_MS);
  });

  test("an endpoint that closes ends its sessions at once, and its connections to pages later", async () => {
    const page = await opened(OF_PAGE);
    const began = performance.now();
    const order: string[] = [];
    const note = (event: string) => (): number => order.push(event);
    const events = [page.closed.then(note("session")), told(page).then(note("told")), page.lost.then(note("lost"))];
    const closing = page.endpoint.close({ closeCode: 7, reason: "farewell" });
    await Promise.all(events);
    expect(order).toEqual(["session", "told", "lost"]);
    expect(performance.now() - began).toBeGreaterThan(HELD_MS);
    await closing;
  });

  test("a page learns of its session's end from an endpoint that closes when its timers are late", async () => {
    const page = await opened(OF_PAGE);
    const closing = page.endpoint.close({ closeCode: 7, reason: "farewell" });
    const until = performance.now() + 2 * HELD_MS;
    while (performance.now() < until);
    await told(page);
    await closing;
  });

  test("an endpoint without such pages closes at once", async () => {
    const { endpoint } = await opened(OF_PAGE, "open");
    const order: string[] = [];
    const closing = endpoint.close().then(() => order.push("closed"));
    // oxlint-disable-next-line eslint/no-restricted-globals -- what must not be waited for
    setTimeout(() => order.push("later"), HELD_MS);
    await closing;
    expect(order).toEqual(["closed"]);
  });
});

interface Opened {
  readonly endpoint: Endpoint;
  readonly session: WebTransportSession;
  readonly request: Request;
  /** How the server's session ended. */
  readonly closed: Promise<CloseInfo>;
  /** The client's connection has ended. */
  readonly lost: Promise<void>;
}
