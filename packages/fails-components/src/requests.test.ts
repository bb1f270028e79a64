// The limiter of HTTP/3, over a stand-in for the package's server: quiche cannot be installed everywhere.
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { ConnectionLimiter, type IncomingSession, type ListenSettings } from "@quicrpc/node/transport";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FailsAnswer, FailsServer, FailsServerSession } from "./package.js";
import { FailsRequests } from "./requests.js";

const HEADER = { ":path": "/rpc", ":authority": "localhost", "wt-available-protocols": '"quicrpc.v1.stream"' };
const MS = 1000;

/** A server that asks about requests and hands over their sessions when a test says so. */
class StandIn {
  readonly arrivals: IncomingSession[] = [];
  readonly closed: FailsServerSession[] = [];
  readonly requests: FailsRequests;
  private ask!: (request: { header: typeof HEADER }) => Promise<FailsAnswer>;
  private sessions!: ReadableStreamDefaultController<FailsServerSession>;

  constructor(limiter: ConnectionLimiter) {
    const server = {
      setRequestCallback: (ask: StandIn["ask"]) => {
        this.ask = ask;
      },
      sessionStream: () =>
        new ReadableStream<FailsServerSession>({
          start: (controller) => {
            this.sessions = controller;
          },
        }),
    };
    const settings = { limits: { ...DEFAULT_LIMITS, maxHandshakeMs: MS }, pages: { refusal: () => undefined } };
    this.requests = new FailsRequests(
      server as unknown as FailsServer,
      "/rpc",
      settings as unknown as ListenSettings,
      limiter,
      () => "https://localhost/rpc",
      (incoming) => void this.arrivals.push(incoming),
    );
  }

  request(): Promise<FailsAnswer> {
    return this.ask({ header: HEADER });
  }

  /** The session of a request that was accepted. */
  async session({ userData }: FailsAnswer, host: string): Promise<void> {
    const session = {
      userData,
      peerAddress: `${host}:1234`,
      ready: Promise.resolve(),
      // As the package has it where the client is alive.
      closed: new Promise(() => {}),
      incomingBidirectionalStreams: new ReadableStream(),
      createBidirectionalStream: () => new Promise(() => {}),
      onStream: () => {},
      close: () => void this.closed.push(session as unknown as FailsServerSession),
    };
    this.sessions.enqueue(session as unknown as FailsServerSession);
    await vi.advanceTimersByTimeAsync(0);
  }
}

describe("requests over HTTP/3 of the package", () => {
  let limiter: ConnectionLimiter;
  let server: StandIn;
  beforeEach(() => {
    vi.useFakeTimers();
    const limits = { maxSessions: 9, maxSessionsPerAddress: 9, maxHandshakes: 4, maxHandshakesPerAddress: 2 };
    limiter = new ConnectionLimiter({ ...limits, maxHandshakeMs: MS, maxCloseMs: 100 });
    server = new StandIn(limiter);
  });
  afterEach(() => void vi.useRealTimers());

  it("give their place back when no session comes of them", async () => {
    const first = await server.request();
    const others = await Promise.all(Array.from({ length: 4 }, () => server.request()));
    expect([first, ...others].map(({ status }) => status)).toEqual([200, 200, 200, 200, 503]);
    await vi.advanceTimersByTimeAsync(MS);
    expect((await server.request()).status).toBe(200);
    // One that comes all the same is closed.
    await server.session(first, "192.0.2.1");
    expect([server.closed.length, server.arrivals.length]).toEqual([1, 0]);
  });

  it("count for their address once it is known, and are closed when their time is over", async () => {
    for (let i = 0; i < 2; i++) await server.session(await server.request(), "192.0.2.1");
    expect(server.arrivals).toHaveLength(2);
    await server.session(await server.request(), "192.0.2.1");
    expect([server.closed.length, server.arrivals.length]).toEqual([1, 2]);
    await server.session(await server.request(), "192.0.2.2");
    expect(server.arrivals).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(MS);
    expect(server.closed).toHaveLength(4);
    await server.session(await server.request(), "192.0.2.1");
    expect(server.arrivals).toHaveLength(4);
  });
});
