// A server component: it calls in its own process, and hands the page what it fetched.
import { createQueries } from "@quicrpc/query";
import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import { createGreeterClient, greeterMethods } from "../generated/greeter.ts";
import { local } from "../greeter.ts";
import { makeQueryClient } from "../query-client.ts";
import { Greeting } from "./greeting.tsx";

export const dynamic = "force-dynamic";

export default async function Page() {
  const { text } = await createGreeterClient(local).greet({ name: "server" });
  const client = makeQueryClient();
  await client.prefetchQuery(createQueries(greeterMethods, local).greet.queryOptions({ name: "page" }));
  return (
    <main>
      <h1>{text}</h1>
      <HydrationBoundary state={dehydrate(client)}>
        <Greeting name="page" />
      </HydrationBoundary>
    </main>
  );
}
