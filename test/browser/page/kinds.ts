import { connect } from "@quicrpc/browser";
import type { CallOptions, Limits, Session } from "@quicrpc/core";
import type { Kind, Pair, PairOptions } from "../../behaviour/kinds.js";
import { Witness } from "../../behaviour/service.js";
import { sessionOptions } from "../../behaviour/session-options.js";
import type { Remote } from "./remote.js";
import { notHere } from "./vitest.js";

/** The page's end of a session with a server in Node, which the test that opened the page starts. */

const { remote, lane } = globalThis as unknown as { remote: Remote; lane: "webtransport" | "websocket" };

const ofOneStream: ReadonlyMap<string, string> = new Map([
  ["C65", "there is no limit of streams: all calls share one"],
  ["C69", "one byte stream carries one protocol"],
]);

export const kinds: readonly Kind[] = [
  {
    name: `a page, ${lane}`,
    exceptions: lane === "websocket" ? ofOneStream : new Map(),
    connect: connectPair,
  },
];

/** The kinds that can show a behaviour. */
export function kindsFor(behaviour: string): readonly Kind[] {
  return kinds.filter(({ exceptions }) => exceptions?.has(behaviour) !== true);
}

async function connectPair(limits: Partial<Limits> = {}, options: PairOptions = {}): Promise<Pair> {
  const { limits: serverLimits = limits, ...others } = options.server ?? {};
  if (Object.keys(others).length > 0) notHere("the server is given functions of the test");
  if (options.wrap !== undefined || options.witness !== undefined)
    notHere("the test reaches into the server's process");
  if (options.maxStreams !== undefined) notHere("the server is given a stream limit of the test's own");
  const { id, url, hash } = await remote.start(serverLimits);
  const witness = new MirroredWitness(id);
  const connection = await connect(url, {
    ...sessionOptions(new Witness(), limits, options.client),
    reconnect: false,
    serverCertificateHashes: [{ algorithm: "sha-256", value: new Uint8Array(hash) }],
  });
  if (connection.transport?.kind !== lane) throw new Error(`connected by ${JSON.stringify(connection.transport)}`);
  const client = connection.session as Session;
  const close = async (): Promise<void> => {
    await connection.close();
    await remote.stop(id);
  };
  return { client, server: remoteSession(id), witness, transport: client.transport, close };
}

/** What the handlers in Node did, some time later. */
class MirroredWitness extends Witness {
  override readonly release: Map<string, () => void>;

  constructor(id: number) {
    super();
    this.release = new RemoteReleases(id);
    void this.follow(id);
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

/** What the behaviours ask of the server's session, carried there. */
function remoteSession(id: number): Session {
  const ask = (what: string, ...given: unknown[]): Promise<unknown> => remote.session(id, what, ...given);
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
