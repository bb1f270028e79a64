// Sessions share the items that the streams of a process send in a turn of the event loop.
import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it, onTestFinished } from "vitest";

const service = { name: "test.v1.ItemTurns", id: 7105 };
const give = defineMethod(service, "server_stream", "give", { id: 1, output: uncheckedCodec<number>() });
const router = createRouter({ give }, { give: endless });

function* endless(): Generator<number> {
  for (let i = 0; ; i++) yield i;
}

/** A client whose streams read without end. */
class Reader {
  items = 0;
  readonly #session = createSession(servedEnd());

  constructor(streams: number) {
    onTestFinished(() => void this.#session.close());
    for (let i = 0; i < streams; i++) this.#read().catch(() => {});
  }

  async #read(): Promise<void> {
    for await (const _ of this.#session.serverStream(give, undefined, { via: "lane" })) this.items++;
  }
}

/** Returns the client's end of a pair whose other end is served. */
function servedEnd(): ReturnType<typeof createMemoryPair>[0] {
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [router] });
  return ours;
}

it.each([
  [1, 400],
  [1, 2000],
  [2, 1300],
  [400, 1],
])("a session with one stream receives as many items as each of %d with %d streams", async (sessions, streams) => {
  const others = Array.from({ length: sessions }, () => new Reader(streams));
  const all = (): number => others.reduce((sum, { items }) => sum + items, 0) / sessions;
  while (all() < 500) await turn();
  const modest = new Reader(1);
  while (modest.items === 0) await turn();
  const [before, own] = [all(), modest.items];
  for (let i = 0; i < 100; i++) await turn();
  expect((all() - before) / (modest.items - own)).toBeLessThan(1.5);
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
