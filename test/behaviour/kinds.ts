import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, type Limits, ServerLoad, type Session, type SessionOptions } from "@quicrpc/core";
import type { DirectSession, TransportSession } from "@quicrpc/core/transport";
import { failsTransport } from "@quicrpc/fails-components";
import { devCertificate, dial, type DialOptions, serve } from "@quicrpc/node";
import { trustOf } from "../../packages/node/test/trust.js";
import { httpKinds } from "./http-kinds.js";
import { Witness } from "./service.js";
import { type Load, measured, servedOptions, sessionOptions } from "./session-options.js";
import { streamSessions } from "./stream-sessions.js";
import {
  type Join,
  joinFails,
  joinMemory,
  joinMessagePort,
  joinQuic,
  joinTcp,
  joinTls,
  joinUnix,
  joinWebSocket,
  joinWebStreams,
  webFace,
} from "./transports.js";

/** Two sessions joined by one kind of transport, both serving the test service. */
export interface Pair {
  readonly client: Session;
  readonly server: Session;
  /** Records the actions of the server's handlers. */
  readonly witness: Witness;
  /** The client's end of the transport, as the kind has it. */
  readonly transport: TransportSession;
  close(): Promise<void>;
}

/** Settings of a pair of sessions, in addition to those of every test. */
export interface PairOptions {
  readonly client?: SessionOptions;
  /** Its routers serve in addition to the test service. */
  readonly server?: SessionOptions;
  /** Sees what the server's handlers do. Default: one that remembers all. */
  readonly witness?: Witness;
  /** Streams that the server lets the client open at once. Default: the transport's own. */
  readonly maxStreams?: number;
  /** Wraps the sessions' transports, for kinds whose sessions are made by the test itself. */
  readonly wrap?: (transport: TransportSession, side: "client" | "server") => TransportSession;
}

export interface Kind {
  readonly name: string;
  /** Behaviours that this kind cannot show: their numbers, and why. */
  readonly exceptions?: ReadonlyMap<string, string>;
  /** Bytes of `limits.maxFrameBytes` that frame a message, and those of a frame that names its method. Default: 9. */
  readonly frameBytes?: number;
  /** Text of the error of a message larger than 10,000 bytes that its receiver refuses. Default: that of frames. */
  readonly tooLarge?: RegExp;
  /** Whether metadata travels in header fields, which carry less. */
  readonly inHeaders?: boolean;
  /**
   * Whether a blob is complete before the call that sends it is made, and a blob of a response can be read any number
   * of times.
   */
  readonly storesBlobs?: boolean;
  /**
   * Name of the kind with the same sessions, from which it differs in what carries the bytes. It does not repeat behaviours that
   * depend on sessions alone, and shows large numbers of calls and bytes on a smaller scale.
   */
  readonly like?: string;
  /** How its calls can travel. Default: on a lane, and each on a stream of its own. */
  readonly carriers?: readonly ("lane" | "stream")[];
  connect(limits?: Partial<Limits>, options?: PairOptions): Promise<Pair>;
}

/** A pair with both ends in this process. */
export interface LocalPair extends Pair {
  /** Measures what the client makes the server hold. */
  serverLoad(): Load;
}

/** A kind that has both ends in this process. */
export interface LocalKind extends Kind {
  connect(limits?: Partial<Limits>, options?: PairOptions): Promise<LocalPair>;
  /** Makes both ends of the transport, for a peer that is not a session. */
  readonly join: Join;
  /** Returns an end of the transport as its session sees it. */
  readonly face: (transport: DirectSession) => TransportSession;
}

const whole = (transport: DirectSession): TransportSession => transport;

function transportOptions({ maxStreams }: PairOptions = {}): { transport?: { maxStreams: number } } {
  return maxStreams === undefined ? {} : { transport: { maxStreams } };
}

function pairOf(
  client: TransportSession,
  server: TransportSession,
  limits: Partial<Limits> = {},
  options: PairOptions = {},
): Omit<LocalPair, "close"> {
  const { witness = new Witness(), wrap = (transport) => transport } = options;
  const load = new ServerLoad();
  return {
    server: createSession(wrap(server, "server"), { load, ...sessionOptions(witness, limits, options.server) }),
    client: createSession(wrap(client, "client"), sessionOptions(new Witness(), limits, options.client)),
    witness,
    transport: client,
    serverLoad: () => measured(load),
  };
}

/** A kind whose two ends are made at once. */
function joined(
  name: string,
  make: Join,
  exceptions: ReadonlyMap<string, string> = new Map(),
  face: LocalKind["face"] = whole,
): LocalKind {
  return {
    name,
    exceptions,
    join: make,
    face,
    async connect(limits, options = {}) {
      const { client, server, release } = await make(options);
      const pair = pairOf(face(client), face(server), limits, options);
      const close = async (): Promise<void> => {
        await pair.client.close();
        await release();
      };
      return { ...pair, close };
    },
  };
}

const NO_TLS = "there is no TLS";
const ENDPOINT = "certificates are tested where `serve` makes the sessions; the engine's own tests have both drivers";

const memory = joined(
  "in-process",
  joinMemory,
  new Map([
    ["C65", "there is no limit of streams but `limits.maxStreams`, beyond which they are refused"],
    ["C67", NO_TLS],
    ["C68", NO_TLS],
  ]),
);

const elsewhere: ReadonlyMap<string, string> = new Map([
  ["C67", ENDPOINT],
  ["C68", ENDPOINT],
]);
/** A server's session that shows only its WHATWG streams, which core cannot give back once it has read of them. */
const ofStreams: ReadonlyMap<string, string> = new Map([
  ...elsewhere,
  [
    "C77",
    "a server reads greetings of transports with the direct interface, as all of `serve` have; clients of either kind send them",
  ],
  ["C91", "as C77: a server asks for a proof while it reads the greeting"],
]);

const overQuic: readonly LocalKind[] = [
  joined("QUIC", joinQuic("raw", "loop")),
  { ...joined("QUIC, thread driver", joinQuic("raw", "thread"), elsewhere), like: "QUIC" },
  {
    ...joined("QUIC through WHATWG streams", joinQuic("raw", "loop"), ofStreams, webFace),
    like: "QUIC",
  },
];

const ofOneStream: ReadonlyMap<string, string> = new Map([
  ["C65", "there is no limit of streams: all calls share one"],
  ["C69", "one byte stream carries one protocol"],
]);
const withoutTls: ReadonlyMap<string, string> = new Map([...ofOneStream, ["C67", NO_TLS], ["C68", NO_TLS]]);

const FAILS =
  "the package's client trusts by hash or the system's roots, and shows no certificate (packages/fails-components/test/fails.test.ts)";
const ofFails: ReadonlyMap<string, string> = new Map([...ofOneStream, ["C67", FAILS], ["C68", FAILS]]);

/** A kind of `serve` and `dial`. */
function served(
  name: string,
  make: Join,
  listen: () => string,
  exceptions = ofOneStream,
  over: Pick<DialOptions, "advanced"> = {},
): LocalKind {
  return {
    name,
    exceptions,
    join: make,
    face: whole,
    async connect(limits = {}, options = {}) {
      const { cert, key, hash } = await devCertificate();
      const { witness = new Witness() } = options;
      let onSession!: (session: Session) => void;
      const accepted = new Promise<Session>((resolve) => {
        onSession = resolve;
      });
      const serving = servedOptions(sessionOptions(witness, limits, options.server));
      const listener = await serve({
        ...serving,
        listen: [listen()],
        tls: { cert, key },
        advanced: { ...serving.advanced, ...transportOptions(options), ...over.advanced, onSession },
      });
      const url = listener.urls[0] as string;
      const calling = servedOptions(sessionOptions(new Witness(), limits, options.client));
      const client = await dial(url, {
        ...calling,
        ...trustOf(url, { hash }),
        advanced: { ...calling.advanced, ...over.advanced },
      });
      const close = async (): Promise<void> => {
        await client.close();
        await listener.close();
      };
      const server = await accepted;
      return { client, server, witness, serverLoad: () => listener.stats(), transport: client.transport, close };
    },
  };
}

const unixUrl = (): string => `unix:${join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket")}`;

const byteStreams: readonly LocalKind[] = [
  joined("TCP", joinTcp, withoutTls),
  joined("MessagePort", joinMessagePort, withoutTls),
  joined("WHATWG byte streams", joinWebStreams, withoutTls),
  { ...served("TLS", joinTls, () => "tls://127.0.0.1:0"), like: "TCP" },
  ...(process.platform === "win32" ? [] : [{ ...served("Unix socket", joinUnix, unixUrl, withoutTls), like: "TCP" }]),
  served("WebSocket", joinWebSocket("ws"), () => "ws://127.0.0.1:0/rpc", withoutTls),
  { ...served("WebSocket over TLS", joinWebSocket("wss"), () => "wss://127.0.0.1:0/rpc"), like: "WebSocket" },
  served("fails HTTP/2", joinFails, () => "https://127.0.0.1:0/rpc", ofFails, {
    advanced: { transports: [failsTransport()] },
  }),
];

const overHttp3: readonly LocalKind[] = [
  served("WebTransport", joinQuic("webTransport", "loop"), () => "https://127.0.0.1:0/rpc", new Map()),
  // Covers the combination that the one above leaves out.
  {
    ...joined("WebTransport, WHATWG streams, thread", joinQuic("webTransport", "thread"), ofStreams, webFace),
    like: "WebTransport",
  },
];

/** Every kind there is here: without the native engine (`scripts/test.mjs` says so), only what needs none. */
const everyKind: readonly LocalKind[] =
  process.env["QUICRPC_NO_ENGINE"] === undefined
    ? [memory, ...overQuic, ...overHttp3, ...byteStreams]
    : [memory, ...byteStreams];

/** Kinds that `npm test -- --quick` runs over: one without a network, one with streams of its own, and one byte stream. */
const QUICK = ["in-process", "QUIC", "TCP"];
const someKinds =
  process.env["QUICRPC_QUICK"] === undefined ? everyKind : everyKind.filter(({ name }) => QUICK.includes(name));

/**
 * Kinds that the suite runs over. Projects of vitest.config.ts also run it over callers with fewer abilities than a
 * session: "stream sessions", which have no lanes for calls, and "http".
 */
export const kinds: readonly LocalKind[] = kindsOf(process.env["QUICRPC_CALLERS"]);

function kindsOf(callers: string | undefined): readonly LocalKind[] {
  if (callers === "streams") return [streamSessions];
  return callers === "http" ? httpKinds : someKinds;
}

/** Kinds with sessions of their own: for behaviours that depend on sessions alone. */
export const distinctKinds: readonly LocalKind[] = kinds.filter(({ like }) => like === undefined);

/** Returns `count`, or a tenth of it for a kind that is like another. */
export function scaled(count: number, { like }: Kind): number {
  return like === undefined ? count : count / 10;
}

/** The kinds that can show a behaviour. */
export function kindsFor(behaviour: string, among: readonly Kind[] = kinds): readonly Kind[] {
  return among.filter(({ exceptions }) => exceptions?.has(behaviour) !== true);
}
