// The page: it calls over HTTP.
import { provideZonelessChangeDetection } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { httpTransport } from "@quicrpc/http";
import { createQueries } from "@quicrpc/query";
import { provideTanStackQuery, QueryClient } from "@tanstack/angular-query-experimental";
import { greeterMethods } from "./generated/greeter.js";
import { GREETER, Greeting } from "./greeting.js";

await bootstrapApplication(Greeting, {
  providers: [
    provideZonelessChangeDetection(),
    provideTanStackQuery(new QueryClient({ defaultOptions: { queries: { retry: false } } })),
    { provide: GREETER, useValue: createQueries(greeterMethods, httpTransport().caller("/rpc")) },
  ],
});
