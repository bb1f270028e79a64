// Compiled with the settings of users' projects, but never run: all imports of a page, and their types.
import * as browser from "@quicrpc/browser";
import * as core from "@quicrpc/core";
import * as generated from "@quicrpc/core/generated";
import * as transport from "@quicrpc/core/transport";
import * as ponyfill from "@quicrpc/fails-components/browser";
import * as queries from "@quicrpc/query";
import type { Feed } from "./feed.service.js";
import * as services from "@quicrpc/services";
import {
  createFeedClient,
  createFeedRouter,
  type FeedClient,
  type FeedHandlers,
  feedMethods,
} from "./generated/feed.js";

export { generated, ponyfill, services, transport };

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only where both types are the same; `any` is the same as nothing but itself. */
declare function same<Found, Wanted>(
  ..._: Equal<Found, Wanted> extends true ? [] : [{ found: Found; wanted: Wanted }]
): void;

interface Post {
  id: number;
  at?: Date | undefined;
  body: string | Uint8Array;
}

export async function clientItems(feed: FeedClient): Promise<void> {
  const stream = feed.watch({ since: BigInt(1) });
  for await (const post of stream) {
    same<typeof post.id, number>();
    same<typeof post.body, string | Uint8Array>();
    // @ts-expect-error -- items are typed: they have no such property
    void post.nothing;
  }
  for await (const post of stream.values({ preventCancel: true })) same<typeof post.id, number>();
  const step = await stream[Symbol.asyncIterator]().next();
  if (step.done) same<typeof step.value, undefined>();
  else same<typeof step.value.id, number>();
  const read = await stream.getReader().read();
  if (!read.done) same<typeof read.value.id, number>();
  same<typeof stream.responseMetadata, core.Metadata>();
  const asStream: ReadableStream<Post> = stream;
  const asIterable: AsyncIterable<Post> = stream;
  // @ts-expect-error -- not of strings
  const wrong: AsyncIterable<string> = stream;
  void [asStream, asIterable, wrong];

  const { readable, writable } = feed.talk();
  const writer = writable.getWriter();
  await writer.write("a");
  // @ts-expect-error -- not a string
  await writer.write(1);
  for await (const post of readable) same<typeof post.id, number>();
  for await (const piece of feed.copy().readable) {
    same<typeof piece.byteLength, number>();
    // Its memory is not shared, which lib `dom` asks for.
    void new Blob([piece]);
  }

  same<Awaited<ReturnType<typeof feed.read>>["id"], number>();
  same<Awaited<ReturnType<typeof feed.publish>>["count"], number>();
  // @ts-expect-error -- not what it takes
  await feed.read({ id: "1" });
  await feed.seen({ id: 1 });
  try {
    await feed.read({ id: 1 });
  } catch (error) {
    if (core.isRpcErrorOf(feedMethods.read, error)) same<typeof error.reason, "GONE">();
  }
}

/** The module that declares what there is to say of methods. */
export type Declared = typeof Feed;

/** The `meta` of methods has the types that the application declares. */
export const allowed: core.Interceptor = (call, next) => {
  same<typeof call.method.meta, core.MethodMeta | undefined>();
  const auth = call.method.meta?.auth;
  same<typeof auth, "user" | "admin" | "public" | undefined>();
  return next(call);
};
// @ts-expect-error -- nobody is a guest
export const wrong: core.MethodMeta = { auth: "guest" };

export const handlers: FeedHandlers<{ user: string }> = {
  read: ({ id }, { connection }) => {
    same<typeof id, number>();
    void connection;
    return { id, body: "" };
  },
  async *watch({ since }) {
    same<typeof since, bigint>();
    yield { id: Number(since), body: new Uint8Array() };
  },
  async publish(posts) {
    let count = 0;
    for await (const post of posts) count += post.id;
    for await (const post of posts) {
      same<typeof post.id, number>();
      // @ts-expect-error -- items are typed
      void post.nothing;
    }
    return { count };
  },
  async *talk(words) {
    for await (const word of words) {
      same<typeof word, string>();
      yield { id: word.length, body: word };
    }
  },
  async *copy(pieces) {
    for await (const piece of pieces) {
      same<typeof piece.byteLength, number>();
      yield piece;
    }
  },
  seen: ({ id }) => same<typeof id, number>(),
};

export async function inPage(hashes: browser.CertificateHash[]): Promise<void> {
  const connection = await browser.connect("https://localhost:4433", { serverCertificateHashes: hashes });
  for await (const state of connection.states()) same<typeof state, core.ConnectionState>();
  const asDisposable: { [Symbol.asyncDispose](): Promise<void> } = connection;
  void asDisposable;
  await clientItems(createFeedClient(connection));
  const feed = queries.createQueries(feedMethods, connection);
  void feed.read.queryOptions({ id: 1 });
  const [here] = transport.createMemoryPair();
  core.createSession(here, { routers: [createFeedRouter(handlers)], connection: { user: "" } });
  const { hash } = { hash: { algorithm: "sha-256", value: new Uint8Array(32) } };
  await browser.connect("https://localhost:4433", { serverCertificateHashes: [hash] });
}
