// Queries of React: see docs/query.md.
import { connect } from "@quicrpc/browser";
import { type Caller, interceptCaller, retry } from "@quicrpc/core";
import { createQueries } from "@quicrpc/query";
import {
  QueryClient,
  skipToken,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from "@tanstack/react-query";
import type { ReactNode } from "react";
import { arithMethods } from "./generated/arith.js";
import { notesMethods } from "./generated/notes.js";

export async function connectQueries(url: string) {
  // #region client
  const connection = await connect(url);
  const arith = createQueries(arithMethods, interceptCaller(connection, [retry()]));
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  // #endregion client
  return { arith, queryClient };
}

export function apiOf(connection: Caller) {
  // #region create
  const arith = createQueries(arithMethods, connection);
  const notes = createQueries(notesMethods, connection);
  // #endregion create
  return { arith, notes };
}

type Api = ReturnType<typeof apiOf>;

export function componentOf({ arith }: Api): (props: { a: number; b: number }) => ReactNode {
  // #region component
  function Quotient({ a, b }: { a: number; b: number }) {
    const { data, error, isPending } = useQuery(arith.divide.queryOptions({ a, b }));
    if (isPending) return <p>…</p>;
    return <p>{error === null ? data.quo : `${error.code}: ${error.message}`}</p>;
  }
  // #endregion component
  return Quotient;
}

export function useSuspended({ arith }: Api, a: number, b: number): number {
  // #region suspense
  const { data } = useSuspenseQuery(arith.divide.queryOptions({ a, b })); // data is there
  // #endregion suspense
  return data.quo;
}

export async function prefetch({ arith }: Api, queryClient: QueryClient, a: number, b: number): Promise<void> {
  // #region prefetch
  await queryClient.prefetchQuery(arith.divide.queryOptions({ a, b })); // before a component asks
  // #endregion prefetch
}

export function useMore({ arith }: Api, a: number, b: number | undefined, tenant: string): number | undefined {
  const divisor = b ?? 1;
  // #region more
  const quotient = useQuery({
    ...arith.divide.queryOptions({ a, b: divisor }, { timeoutMs: 500, metadata: { tenant } }),
    select: ({ quo }) => quo,
    staleTime: 60_000,
  });
  const later = useQuery(arith.divide.queryOptions(b === undefined ? skipToken : { a, b })); // waits for its input
  // #endregion more
  return later.data === undefined ? undefined : quotient.data;
}

export function usePages({ notes }: Api): readonly string[] {
  // #region pages
  const { data, fetchNextPage, hasNextPage } = useInfiniteQuery(
    notes.list.infiniteOptions((after: string | undefined) => ({ after, limit: 50 }), {
      initialPageParam: undefined,
      getNextPageParam: (page) => page.next,
    }),
  );
  // #endregion pages
  if (hasNextPage) void fetchNextPage();
  return data?.pages.flatMap((page) => page.notes.map(({ text }) => text)) ?? [];
}

export function useMultiplying({ arith }: Api): (input: { a: number; b: number }) => void {
  const queryClient = useQueryClient();
  // #region mutation
  const { mutate } = useMutation({
    ...arith.multiply.mutationOptions({ timeoutMs: 500 }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: arith.divide.queryKey() }),
  });
  // mutate({ a: 6, b: 7 }), as when a button is pressed
  // #endregion mutation
  return mutate;
}

export function useStream({ notes }: Api): readonly string[] {
  // #region stream
  const { data = [] } = useQuery(notes.watch.streamedOptions(undefined, { keep: 20 })); // the last 20 notes
  // #endregion stream
  return data.map(({ text }) => text);
}

export function useLiveNotes({ notes }: Api): { texts: readonly string[]; notice: string } {
  // #region lost
  const { data = [], failureReason } = useQuery(notes.watch.streamedOptions(undefined, { keep: 20 }));
  const notice = failureReason === null ? "" : "Reconnecting…";
  // #endregion lost
  return { texts: data.map(({ text }) => text), notice };
}
