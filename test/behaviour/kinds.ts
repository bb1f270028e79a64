import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import {
  createMemoryPair,
  createSession,
  type Limits,
  messagePortSession,
  type Session,
  type SessionOptions,
  type TransportSession,
  webStreamSession,
} from "@quicrpc/core";
import { devCertificate, dial, nodeStreamSession, serve } from "@quicrpc/node";
import { Endpoint, type QuicSession } from "@quicrpc/quic";
import { Witness } from "./service.js";
import { sessionOptions } from "./session-options.js";

/** Two sessions joined by one kind of transport, both serving the test service. */
export interface Pair {
  readonly client: Session;
  readonly server: Session;
  /** What the server's handlers did. */
  readonly witness: Witness;
  /** The client's end of the transport, as the kind has it. */
  readonly transport: TransportSession;
  close(): Promise<void>;
}

/** What a topic needs of the sessions beside what every test has. */
export interface PairOptions {
  readonly client?: SessionOptions;
  /** Its routers serve beside the test service. */
  readonly server?: SessionOptions;
  /** Of the server's handlers. Default: one that remembers all. */
  readonly witness?: Witness;
  /** Streams that the server lets the client open at once. Default: the transport's own. */
  readonly maxStreams?: number;
  /** Stands between the sessions and their transports, where the test makes them itself. */
  readonly wrap?: (transport: TransportSession, side: "client" | "server") => TransportSession;
}

export interface Kind {
  readonly name: string;
  /** What this kind cannot show: a behaviour's number, and why. */
  readonly exceptions?: ReadonlyMap<string, string>;
  connect(limits?: Partial<Limits>, options?: PairOptions): Promise<Pair>;
}

function transportOptions({ maxStreams }: PairOptions = {}): { transport?: { maxConcurrentStreams: number } } {
  return maxStreams === undefined ? {} : { transport: { maxConcurrentStreams: maxStreams } };
}

function pairOf(
  client: TransportSession,
  server: TransportSession,
  limits: Partial<Limits> = {},
  options: PairOptions = {},
): Omit<Pair, "close"> {
  const { witness = new Witness(), wrap = (transport) => transport } = options;
  return {
    server: createSession(wrap(server, "server"), sessionOptions(witness, limits, options.server)),
    client: createSession(wrap(client, "client"), sessionOptions(new Witness(), limits, options.client)),
    witness,
    transport: client,
  };
}

/** A kind whose two ends are made at once. */
function joined(
  name: string,
  make: () => Promise<[TransportSession, TransportSession]> | [TransportSession, TransportSession],
  exceptions: ReadonlyMap<string, string> = new Map(),
): Kind {
  return {
    name,
    exceptions,
    async connect(limits, options) {
      const [client, server] = await make();
      const pair = pairOf(client, server, limits, options);
      return { ...pair, close: async () => void (await pair.client.close()) };
    },
  };
}

const NO_TLS = "there is no TLS";
const ENDPOINT = "identities are tested where `serve` makes the sessions; the engine's own tests have both drivers";

const memory = joined(
  "in-process",
  createMemoryPair,
  new Map([
    ["C65", "there is no limit of streams but `limits.maxStreams`, beyond which they are refused"],
    ["C68", NO_TLS],
  ]),
);

function quic(
  name: string,
  driver: "loop" | "thread",
  face: (session: QuicSession) => TransportSession,
  exceptions: ReadonlyMap<string, string> = new Map([["C68", ENDPOINT]]),
): Kind {
  return {
    name,
    exceptions,
    async connect(limits, options) {
      const { cert, key, hash } = await devCertificate();
      const host = "127.0.0.1";
      const listener = Endpoint.bind({ host, port: 0, driver });
      const dialler = Endpoint.bind({ host, port: 0, driver });
      const accepted = new Promise<QuicSession>((resolve) => {
        listener.listen({ alpn: ["test"], tls: { cert, key }, ...transportOptions(options) }, resolve);
      });
      const client = await dialler.connect({
        host,
        port: listener.address.port,
        serverName: "localhost",
        alpn: ["test"],
        tls: { serverCertificateHashes: [hash] },
      });
      const pair = pairOf(face(client), face(await accepted), limits, options);
      const close = async (): Promise<void> => {
        await pair.client.close();
        await Promise.all([dialler.close(), listener.close()]);
      };
      return { ...pair, close };
    },
  };
}

/** Only what the W3C interface has, so that core drives the session through WHATWG streams. */
function webFace(session: QuicSession): TransportSession {
  return {
    ready: session.ready,
    closed: session.closed,
    close: (info) => session.close(info),
    createBidirectionalStream: () => session.createBidirectionalStream(),
    incomingBidirectionalStreams: session.incomingBidirectionalStreams,
  };
}

/** Through WHATWG streams and the thread driver: what `served` below leaves out. */
const webTransportFace: Kind = {
  name: "WebTransport, WHATWG streams, thread",
  exceptions: new Map([["C68", ENDPOINT]]),
  async connect(limits, options) {
    const { cert, key, hash } = await devCertificate();
    const listener = Endpoint.bind({ host: "127.0.0.1", port: 0, driver: "thread" });
    const dialler = Endpoint.bind({ host: "127.0.0.1", port: 0, driver: "thread" });
    const accepted = new Promise<QuicSession>((resolve) => {
      listener.listen({ tls: { cert, key }, webTransport: {}, ...transportOptions(options) }, resolve);
    });
    const url = `https://127.0.0.1:${listener.address.port}/`;
    const client = await dialler.connectWebTransport(url, { tls: { serverCertificateHashes: [hash] } });
    const pair = pairOf(webFace(client), webFace(await accepted), limits, options);
    const close = async (): Promise<void> => {
      await pair.client.close();
      await Promise.all([dialler.close(), listener.close()]);
    };
    return { ...pair, close };
  },
};

const overQuic: readonly Kind[] = [
  quic("QUIC", "loop", (session) => session, new Map()),
  quic("QUIC, thread driver", "thread", (session) => session),
  quic("QUIC through WHATWG streams", "loop", webFace),
];

const ofOneStream: ReadonlyMap<string, string> = new Map([
  ["C65", "there is no limit of streams: all calls share one"],
  ["C69", "one byte stream carries one protocol"],
]);
const withoutTls: ReadonlyMap<string, string> = new Map([...ofOneStream, ["C68", NO_TLS]]);

const socket = joined(
  "TCP",
  async () => {
    const [client, server] = await socketPair();
    return [
      nodeStreamSession({ readable: client, writable: client }, "client"),
      nodeStreamSession({ readable: server, writable: server }, "server"),
    ];
  },
  withoutTls,
);

async function socketPair(): Promise<[Socket, Socket]> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const accepted = once(listener, "connection") as Promise<[Socket]>;
  const client = connectSocket((listener.address() as AddressInfo).port, "127.0.0.1");
  const [server] = await accepted;
  listener.close();
  return [client, server];
}

const messagePort = joined(
  "MessagePort",
  () => {
    const { port1, port2 } = new MessageChannel();
    return [messagePortSession(port1, "client"), messagePortSession(port2, "server")];
  },
  withoutTls,
);

const webStreams = joined(
  "WHATWG byte streams",
  () => {
    const there = new TransformStream<Uint8Array, Uint8Array>();
    const back = new TransformStream<Uint8Array, Uint8Array>();
    return [
      webStreamSession({ readable: back.readable, writable: there.writable }, "client"),
      webStreamSession({ readable: there.readable, writable: back.writable }, "server"),
    ];
  },
  withoutTls,
);

/** A kind of `serve` and `dial`. */
function served(name: string, listen: () => string, exceptions = ofOneStream): Kind {
  return {
    name,
    exceptions,
    async connect(limits = {}, options = {}) {
      const { cert, key, hash } = await devCertificate();
      const { witness = new Witness() } = options;
      let onSession!: (session: Session) => void;
      const accepted = new Promise<Session>((resolve) => {
        onSession = resolve;
      });
      const listener = await serve({
        ...sessionOptions(witness, limits, options.server),
        listen: [listen()],
        tls: { cert, key },
        ...transportOptions(options),
        onSession,
      });
      const trust = { serverCertificateHashes: [hash] };
      const client = await dial(listener.urls[0] as string, {
        ...sessionOptions(new Witness(), limits, options.client),
        ...trust,
      });
      const close = async (): Promise<void> => {
        await client.close();
        await listener.close();
      };
      return { client, server: await accepted, witness, transport: client.transport, close };
    },
  };
}

const byteStreams: readonly Kind[] = [
  socket,
  messagePort,
  webStreams,
  served("TLS", () => "tls://127.0.0.1:0"),
  served("Unix socket", () => `unix:${join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket")}`, withoutTls),
  served("WebSocket", () => "ws://127.0.0.1:0/rpc", withoutTls),
  served("WebSocket over TLS", () => "wss://127.0.0.1:0/rpc"),
];

const overHttp3: readonly Kind[] = [
  served("WebTransport", () => "https://127.0.0.1:0/rpc", new Map()),
  webTransportFace,
];

/** Every kind there is here: without the native engine (`scripts/test.mjs` says so), only what needs none. */
export const kinds: readonly Kind[] =
  process.env["QUICRPC_NO_ENGINE"] === undefined
    ? [memory, ...overQuic, ...overHttp3, ...byteStreams]
    : [memory, ...byteStreams];

/** The kinds that can show a behaviour. */
export function kindsFor(behaviour: string): readonly Kind[] {
  return kinds.filter(({ exceptions }) => exceptions?.has(behaviour) !== true);
}
