// Components are rendered as a server renders them: what a browser adds is in test/browser/react-query.test.ts.
import { createLocalCaller, RpcError } from "@quicrpc/core";
import { devCertificate, serve } from "@quicrpc/node";
import { WebTransport } from "@quicrpc/quic";
import { QueryClient, QueryClientProvider, useQueryClient } from "@tanstack/react-query";
import { createElement, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { prerender } from "react-dom/static";
import { beforeEach, expect, it, vi } from "vitest";
import { createArithRouter } from "./generated/arith.js";
import { createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";
import {
  apiOf,
  componentOf,
  connectQueries,
  prefetch,
  useMore,
  useMultiplying,
  usePages,
  useStream,
  useSuspended,
} from "./query.js";

vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));
vi.mock(import("@quicrpc/browser"), async (actual) =>
  (await import("./loopback.js")).pageOnLoopback(await actual(), devCertificate),
);
vi.stubGlobal("WebTransport", WebTransport);

const multiplied: number[] = [];
const arithRouter = createArithRouter({
  multiply: ({ a, b }) => {
    multiplied.push(a * b);
    return { pro: a * b };
  },
  divide: ({ a, b }) => {
    if (b === 0) throw new RpcError("out_of_range", "not by zero");
    return { quo: Math.trunc(a / b) };
  },
});
let api: ReturnType<typeof apiOf>;
let queryClient: QueryClient;

beforeEach(async () => {
  const notes = createNotes();
  const notesRouter = createNotesRouter({
    ...notes,
    async *watch() {
      for (const id of ["1", "2", "3"]) yield { id, text: `note ${id}`, changed: new Date(0) };
    },
    list: () => ({ notes: [{ id: "1", text: "milk", changed: new Date(0) }], next: undefined }),
  });
  api = apiOf(createLocalCaller([arithRouter, notesRouter], { onError: () => {} }));
  queryClient = new QueryClient({
    defaultOptions: { queries: { retry: false, retryOnMount: false, staleTime: Infinity } },
  });
});

/** What a component shows that a hook's value is the text of. */
function shown(hook: () => unknown): string {
  const Shown = (): ReactNode => String(hook());
  return renderToString(createElement(QueryClientProvider, { client: queryClient }, createElement(Shown)));
}

it("a component shows its query: waiting, answered and failed", async () => {
  const Quotient = componentOf(api);
  const html = (b: number): string =>
    renderToString(
      createElement(QueryClientProvider, { client: queryClient }, createElement(Quotient, { a: 7, b })),
    ).replaceAll("<!-- -->", "");
  expect(html(2)).toBe("<p>…</p>");
  await prefetch(api, queryClient, 7, 2);
  await prefetch(api, queryClient, 7, 0);
  expect(html(2)).toBe("<p>3</p>");
  expect(html(0)).toBe("<p>out_of_range: not by zero</p>");
});

it("a suspended component has its data", async () => {
  const Suspended = (): ReactNode => useSuspended(api, 9, 2);
  const { prelude } = await prerender(
    createElement(QueryClientProvider, { client: queryClient }, createElement(Suspended)),
  );
  expect(await new Response(prelude).text()).toContain("4");
});

it("options beside the query's, a query that waits for its input, pages and streams", async () => {
  await prefetch(api, queryClient, 8, 2);
  expect(shown(() => useMore(api, 8, 2, "ann"))).toBe("4");
  expect(shown(() => useMore(api, 8, undefined, "ann"))).toBe("undefined");
  const { notes } = api;
  const first = notes.list.infiniteOptions((after: string | undefined) => ({ after, limit: 50 }), {
    initialPageParam: undefined,
    getNextPageParam: (page) => page.next,
  });
  await queryClient.prefetchInfiniteQuery(first);
  expect(shown(() => usePages(api))).toBe("milk");
  await queryClient.prefetchQuery(notes.watch.streamedOptions(undefined, { keep: 20 }));
  expect(shown(() => useStream(api))).toBe("note 1,note 2,note 3");
});

it("a mutation makes queries stale", async () => {
  await prefetch(api, queryClient, 8, 2);
  let mutate: ReturnType<typeof useMultiplying> | undefined;
  shown(() => {
    mutate = useMultiplying(api);
    return useQueryClient() === queryClient;
  });
  mutate?.({ a: 6, b: 7 });
  await vi.waitUntil(
    () => queryClient.getQueryState(api.arith.divide.queryKey({ a: 8, b: 2 }))?.isInvalidated === true,
  );
  expect(multiplied).toEqual([42]);
});

it("queries over a connection of a page", async () => {
  const server = await serve({ listen: "https://[::]:4433", tls: await devCertificate(), routers: [arithRouter] });
  const { arith, queryClient: own } = await connectQueries(server.urls[0] ?? "");
  expect(await own.fetchQuery(arith.divide.queryOptions({ a: 9, b: 2 }))).toEqual({ quo: 4 });
});
