import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  connect,
  type ConnectOptions,
  Endpoint,
  type ListenOptions,
  type ListenTransportOptions,
  type QuicSession,
  type QuicStream,
  type SessionHandler,
  type StreamHandler,
  type TransportOptions,
  type WebTransportSession,
} from "../dist/index.js";
import { certificate, type TestCertificate } from "./certificates.js";

export const ALPN = ["test/1"];
export type DriverName = "loop" | "thread";
/** The drivers of this platform. */
export const DRIVERS: readonly DriverName[] = process.platform === "win32" ? ["thread"] : ["loop", "thread"];
export { connect, Endpoint };

/** A promise and the means to settle it. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((res, rej) => {
    resolve = res;
    reject = rej;
  });
  return { promise, resolve, reject };
}

/** A handler of which only some events matter. */
export function onStreamEvents(events: Partial<StreamHandler>): StreamHandler {
  const nothing = (): void => {};
  return {
    onData: nothing,
    onEnd: nothing,
    onReset: nothing,
    onStopSending: nothing,
    onDrain: nothing,
    onClosed: nothing,
    ...events,
  };
}

export function onSessionEvents(events: Partial<SessionHandler>): SessionHandler {
  return { onStream() {}, onClosed() {}, ...events };
}

/** Echoes every stream of a session, FIN included, respecting backpressure. */
export function echo(session: QuicSession): void {
  session.attach(
    onSessionEvents({
      onStream(stream) {
        stream.attach(
          onStreamEvents({
            onData: (chunk) => {
              if (!stream.write(chunk)) stream.pause();
            },
            onDrain: () => stream.resume(),
            onEnd: () => stream.write(new Uint8Array(0), true),
          }),
        );
      },
    }),
  );
}

/** Everything a stream receives until its end. */
export function readAll(stream: QuicStream): Promise<Buffer> {
  const { promise, resolve, reject } = deferred<Buffer>();
  const chunks: Uint8Array[] = [];
  stream.attach(
    onStreamEvents({
      onData: (chunk) => chunks.push(chunk),
      onEnd: () => resolve(Buffer.concat(chunks)),
      onReset: (code) => reject(new Error(`reset ${code}`)),
      onClosed: (error) => reject(error ?? new Error("closed")),
    }),
  );
  return promise;
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Takes the peer's streams: the first letters of the next `count` that end, in the order of their ends. */
export function endings(session: QuicSession | WebTransportSession, count: number): Promise<string[]> {
  const { promise, resolve } = deferred<string[]>();
  const order: string[] = [];
  session.attach(
    onSessionEvents({
      onStream(stream) {
        let name = "";
        stream.attach(
          onStreamEvents({
            onData: (chunk) => (name ||= String.fromCharCode(chunk[0] as number)),
            onEnd: () => order.push(name) === count && resolve(order),
          }),
        );
      },
    }),
  );
  return promise;
}

/** The same numbers from 0 to 1 each time (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Whether a datagram is a dialler's question whether a port is closed, where an answer takes long (src/port-probe.ts): one byte, from a socket
 * of its own. Whoever carries packets for one client drops it, or the answers would go to that socket.
 */
export function isPortProbe(datagram: Uint8Array): boolean {
  return datagram.length === 1;
}

/** A path to a UDP port of this machine, for one client, that takes `delayMs` each way. */
export async function delayedPath(to: number, delayMs: number): Promise<{ port: number; close(): void }> {
  const [front, back] = [createSocket("udp4"), createSocket("udp4")];
  await Promise.all([front, back].map((socket) => once(socket.bind(0, "127.0.0.1"), "listening")));
  let [client, open] = [0, true];
  const later = (send: () => void): void => void setTimeout(() => open && send(), delayMs);
  front.on("message", (data, { port }) => {
    if (isPortProbe(data)) return;
    client = port;
    later(() => back.send(data, to, "127.0.0.1"));
  });
  back.on("message", (data) => later(() => front.send(data, client, "127.0.0.1")));
  return {
    port: front.address().port,
    close() {
      open = false;
      front.close();
      back.close();
    },
  };
}

/**
 * A path to a port for one client, on which only those of its packets go on that `passes` says yes to, and of the answers those that `returns`
 * does. `arrived`: the first has come. `answer` sends the client a packet.
 */
export async function selectivePath(
  to: number,
  passes: (packet: Buffer) => boolean,
  returns: (packet: Buffer) => boolean = () => true,
): Promise<{ port: number; arrived: Promise<void>; answer(packet: Buffer): void; close(): void }> {
  const [front, back] = [createSocket("udp4"), createSocket("udp4")];
  await Promise.all([front, back].map((socket) => once(socket.bind(0, "127.0.0.1"), "listening")));
  const arrived = deferred();
  let client = 0;
  const answer = (packet: Buffer): void => front.send(packet, client, "127.0.0.1");
  back.on("message", (packet) => {
    if (returns(packet)) answer(packet);
  });
  front.on("message", (data, { port }) => {
    if (isPortProbe(data)) return;
    client = port;
    arrived.resolve();
    if (passes(data)) back.send(data, to, "127.0.0.1");
  });
  return {
    port: front.address().port,
    arrived: arrived.promise,
    answer,
    close() {
      front.close();
      back.close();
    },
  };
}

/** Servers and clients of one test, closed after it. */
export class World {
  readonly #driver: DriverName;
  readonly #endpoints: Endpoint[] = [];
  certificate!: TestCertificate;

  constructor(driver: DriverName) {
    this.#driver = driver;
  }

  bind(host = "127.0.0.1", port = 0): Endpoint {
    const endpoint = Endpoint.bind({ host, port, driver: this.#driver });
    this.#endpoints.push(endpoint);
    return endpoint;
  }

  async serve(
    onSession: (session: QuicSession) => void,
    { port, ...options }: Partial<Omit<ListenOptions, "tls">> & { tls?: TestCertificate; port?: number } = {},
  ): Promise<Endpoint> {
    this.certificate = options.tls ?? (await certificate());
    const server = this.bind("127.0.0.1", port);
    server.listen({ alpn: ALPN, ...options, tls: this.certificate }, onSession);
    return server;
  }

  /** Dials `server` with its certificate pinned. */
  dial(server: Endpoint, options: Partial<ConnectOptions> = {}, client: Endpoint = this.bind()): Promise<QuicSession> {
    return client.connect({
      host: "127.0.0.1",
      port: server.address.port,
      alpn: ALPN,
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: this.certificate.hash }] },
      ...options,
    });
  }

  /** A client session and the server's session at its other end. */
  async pair(
    options: { server?: ListenTransportOptions; client?: TransportOptions } = {},
  ): Promise<[QuicSession, QuicSession]> {
    const accepted = deferred<QuicSession>();
    const server = await this.serve(
      accepted.resolve,
      options.server === undefined ? {} : { transport: options.server },
    );
    const client = await this.dial(server, options.client === undefined ? {} : { transport: options.client });
    return [client, await accepted.promise];
  }

  async close(): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.close()));
  }
}
