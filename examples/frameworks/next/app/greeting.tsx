"use client";
import { httpTransport } from "@quicrpc/http";
import { createQueries } from "@quicrpc/query";
import { useQuery } from "@tanstack/react-query";
import { greeterMethods } from "../generated/greeter.ts";

/** No calls are made while the page is rendered on the server: its data is already there. */
const origin = typeof window === "undefined" ? "http://localhost" : window.location.origin;
const greeter = createQueries(greeterMethods, httpTransport().caller(`${origin}/rpc`));

export function Greeting({ name }: { name: string }) {
  const { data, error, refetch } = useQuery(greeter.greet.queryOptions({ name }));
  if (error) return <p role="alert">{error.message}</p>;
  return (
    <p>
      {data?.text} <time>{data?.at.toISOString()}</time> <button onClick={() => void refetch()}>again</button>
    </p>
  );
}
