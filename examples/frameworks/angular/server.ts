// The server: it answers calls, and renders the page with data fetched in the same process.
import "@angular/compiler";
import { provideZonelessChangeDetection } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { provideServerRendering, renderApplication } from "@angular/platform-server";
import { createLocalCaller } from "@quicrpc/core";
import { toNodeHandler } from "@quicrpc/http";
import { createQueries } from "@quicrpc/query";
import { provideTanStackQuery, QueryClient } from "@tanstack/angular-query-experimental";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { greeterMethods } from "./generated/greeter.js";
import { handler, router } from "./greeter.js";
import { GREETER, Greeting } from "./greeting.js";

const greeter = createQueries(greeterMethods, createLocalCaller([router]));

async function render(): Promise<string> {
  // One for each page: what it holds is one visitor's, and is not fetched again while it is rendered.
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } });
  await Promise.all([
    client.prefetchQuery(greeter.greet.queryOptions({ name: "Ada" })),
    client.prefetchQuery(greeter.count.streamedOptions({ from: 3 })),
  ]);
  const providers = [
    provideZonelessChangeDetection(),
    provideServerRendering(),
    provideTanStackQuery(client),
    { provide: GREETER, useValue: greeter },
  ];
  const document = "<!doctype html><app-greeting></app-greeting>";
  return renderApplication((context) => bootstrapApplication(Greeting, { providers }, context), { document });
}

const calls = toNodeHandler(handler);
const server = createServer((request, response) =>
  calls(request, response, () => {
    render().then(
      (page) => response.setHeader("content-type", "text/html; charset=utf-8").end(page),
      () => response.writeHead(500).end(),
    );
  }),
);
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
