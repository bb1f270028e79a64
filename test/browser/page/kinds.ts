import { type BrowserConnection, connect, connectWebTransport } from "@quicrpc/browser";
import {
  type CallOptions,
  createSession,
  createStreamSession,
  type Limits,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { type TransportSession, WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { ponyfillTransport } from "@quicrpc/fails-components/browser";
import type { Kind, Pair, PairOptions } from "../../behaviour/kinds.js";
import { Witness } from "../../behaviour/service.js";
import { sessionOptions } from "../../behaviour/session-options.js";
import { type PageKind, pageKinds } from "./lanes.js";
import type { Lane, Meeting, Remote } from "./remote.js";
import { notHere, running } from "./vitest.js";

/** The page's end of a session with a server in Node, which the test that opened the page starts, or with one in the page. */

const { remote, lane } = globalThis as unknown as { remote: Remote; lane: Lane };

let meetings = 0;

/** Not in the table of docs/conformance.md, as the same in Node: the project "stream sessions" of `vitest.config.ts`. */
const streamSessions: PageKind = {
  lane: "createStreamSession",
  name: "a page, a stream for each call",
  exceptions: new Map(),
};

export const kinds: readonly Kind[] = [...pageKinds, streamSessions]
  .filter((kind) => kind.lane === lane)
  .map(({ name, exceptions }) => ({ name, exceptions, connect: connectPair }));

export const distinctKinds: readonly Kind[] = kinds.filter(({ like }) => like === undefined);

/** Large numbers are for Node, over the same transports. */
export function scaled(count: number): number {
  return count / 10;
}

/** The kinds that can show a behaviour. */
export function kindsFor(behaviour: string): readonly Kind[] {
  return kinds.filter(({ exceptions }) => exceptions?.has(behaviour) !== true);
}

async function connectPair(limits: Partial<Limits> = {}, options: PairOptions = {}): Promise<Pair> {
  const { limits: serverLimits = limits, ...others } = options.server ?? {};
  const ofTheTest = Object.keys(others).length > 0 || options.wrap !== undefined || options.witness !== undefined;
  if (lane === "ponyfill" && (ofTheTest || running.ofOneProcess)) notHere("the package's server is in Node");
  if (ofTheTest || running.ofOneProcess) return connectHere(limits, options);
  return connectToNode(limits, serverLimits, options);
}

/**
 * Connects within the page, for servers with functions of the test: the server's session is in the page too, and Node
 * joins the two.
 */
async function connectHere(limits: Partial<Limits>, options: PairOptions): Promise<Pair> {
  const { witness = new Witness(), wrap } = options;
  const meeting = await remote.meet();
  const path = `/${++meetings}`;
  if (wrap !== undefined) {
    // Both ends exist before either begins, because the connection between them may end at the first step.
    const [far, near] = await Promise.all([dial(meeting, path, "server"), dial(meeting, path, "client")]);
    const server = createSession(wrap(far, "server"), sessionOptions(witness, limits, options.server));
    const client = createSession(wrap(near, "client"), sessionOptions(new Witness(), limits, options.client));
    return { client, server, witness, transport: near, close: async () => void (await client.close()) };
  }
  const server = createSession(await dial(meeting, path, "server"), sessionOptions(witness, limits, options.server));
  const fallback = meeting.webSocket + path;
  const { client, close } = await connected(
    meeting.webTransport + path,
    meeting.hash,
    limits,
    options.client,
    fallback,
  );
  return { client, server, witness, transport: client.transport, close };
}

async function dial(meeting: Meeting, path: string, role: "client" | "server"): Promise<TransportSession> {
  if (lane === "websocket") {
    const socket = new WebSocket(meeting.webSocket + path, [WEBSOCKET_PROTOCOL]);
    const session = webSocketTransport(socket, role);
    await new Promise((opened) => socket.addEventListener("open", opened));
    return session;
  }
  const transport = new WebTransport(meeting.webTransport + path, { serverCertificateHashes: hashes(meeting.hash) });
  await transport.ready;
  return transport;
}

async function connectToNode(
  limits: Partial<Limits>,
  serverLimits: Partial<Limits>,
  { client: own, maxStreams }: PairOptions,
): Promise<Pair> {
  const { id, url, hash } = await remote.start(serverLimits, maxStreams);
  const witness = new MirroredWitness(id);
  const { client, close: closeClient } = await connected(url, hash, limits, own);
  const close = async (): Promise<void> => {
    await closeClient();
    await remote.stop(id);
  };
  return { client, server: remoteSession(id, witness), witness, transport: client.transport, close };
}

/** @param fallback the WebSocket's URL, if it differs from the usual one */
async function connected(
  url: string,
  hash: readonly number[],
  limits: Partial<Limits>,
  own: SessionOptions = {},
  fallback?: string,
): Promise<{ client: Session; close: () => Promise<void> }> {
  if (lane === "createStreamSession") {
    const client = await streamSession(url, hash, limits, own);
    return { client, close: async () => void (await client.close()) };
  }
  const connection = await connectedBy(url, hash, limits, own, fallback);
  return { client: sessionOf(connection), close: async () => void (await connection.close()) };
}

/** Makes a session with a stream for each call. A missing feature skips the test that requires it. */
async function streamSession(
  url: string,
  hash: readonly number[],
  limits: Partial<Limits>,
  { limits: ownLimits = limits, via: _via, prefix, ...others }: SessionOptions,
): Promise<Session> {
  if (Object.keys(others).length > 0) notHere("a stream session only calls, in MessagePack");
  const transport = new WebTransport(url, { serverCertificateHashes: hashes(hash) });
  await transport.ready;
  const client = createStreamSession(transport, { limits: ownLimits, ...(prefix !== undefined && { prefix }) });
  const lacking = (): never => notHere("a stream session neither drains nor pings");
  return Object.assign(client, {
    drain: lacking,
    demandCredentials: lacking,
    ping: lacking,
    rttMs: undefined,
    departure: undefined,
  });
}

async function connectedBy(
  url: string,
  hash: readonly number[],
  limits: Partial<Limits>,
  own: SessionOptions,
  fallback: string | undefined,
): Promise<BrowserConnection> {
  const options = { reconnect: false, serverCertificateHashes: hashes(hash) };
  if (lane === "ponyfill") {
    const over = { transport: ponyfillTransport(), fallback: false, reconnect: false } as const;
    return connect(url, { ...sessionOptions(new Witness(), limits, own), ...over });
  }
  if (lane !== "connectWebTransport") {
    const all = { ...options, ...sessionOptions(new Witness(), limits, own) };
    return connect(url, fallback === undefined ? all : { ...all, fallback: { url: fallback } });
  }
  const { limits: ownLimits = limits, via, prefix, ...others } = own;
  if (Object.keys(others).length > 0) notHere("a client session only calls, in MessagePack");
  const chosen = { ...(via !== undefined && { via }), ...(prefix !== undefined && { prefix }) };
  return connectWebTransport(url, { ...options, ...chosen, limits: ownLimits });
}

function sessionOf({ transport, session }: BrowserConnection): Session {
  const wanted = lane === "connectWebTransport" || lane === "firefox" ? "webtransport" : lane;
  if (transport?.kind !== wanted) throw new Error(`connected by ${JSON.stringify(transport)}`);
  return session as Session;
}

function hashes(hash: readonly number[]): WebTransportHash[] {
  return [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
}

/** Copy of the record of the handlers in Node, which follows it some time later. */
class MirroredWitness extends Witness {
  override readonly release: Map<string, () => void>;
  /** Waiting tests, and the number of events that each waits for. */
  private behind: { events: number; resolve: () => void }[] = [];

  constructor(id: number) {
    super();
    this.release = new RemoteReleases(id);
    void this.follow(id);
  }

  override saw(event: string): void {
    super.saw(event);
    const isDue = ({ events }: { events: number }): boolean => events <= this.events.length;
    for (const { resolve } of this.behind.filter(isDue)) resolve();
    this.behind = this.behind.filter((one) => !isDue(one));
  }

  /** Waits until this many events have arrived. */
  async caughtUp(events: number): Promise<void> {
    if (events <= this.events.length) return;
    await new Promise<void>((resolve) => this.behind.push({ events, resolve }));
  }

  private async follow(id: number): Promise<void> {
    for (;;) {
      const news = await remote.seen(id, this.events.length);
      if (news === undefined) return;
      for (const { error, method } of news.errors.slice(this.errors.length)) {
        this.errors.push({ error: new Error(error.message), method });
      }
      for (const event of news.events) this.saw(event);
    }
  }
}

class RemoteReleases extends Map<string, () => void> {
  private readonly id: number;

  constructor(id: number) {
    super();
    this.id = id;
  }

  override get(name: string): () => void {
    return () => void remote.release(this.id, name);
  }
}

/** The server's session, whose calls are carried to it. Answers come after what its handlers did before. */
function remoteSession(id: number, witness: MirroredWitness): Session {
  const ask = async (what: string, ...given: unknown[]): Promise<unknown> => {
    const { value, events } = await remote.session(id, what, ...given);
    await witness.caughtUp(events);
    return value;
  };
  const session = {
    unary: ({ name }: { name: string }, input: unknown, options: CallOptions) => ask("unary", name, input, options),
    serverStream: ({ name }: { name: string }, input: unknown, options: CallOptions) =>
      new ReadableStream({
        async start(out) {
          for (const item of (await ask("serverStream", name, input, options)) as unknown[]) out.enqueue(item);
          out.close();
        },
      }),
    close: (info: unknown) => ask("close", info),
    drain: (options: unknown) => ask("drain", options),
    ping: () => ask("ping"),
    get closed() {
      return ask("closed");
    },
  };
  return session as unknown as Session;
}
