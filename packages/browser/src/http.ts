import type { ForeignClient } from "@quicrpc/core/transport";
import { ifAllowed } from "./policy.js";
import type { HttpProvider, HttpSettings } from "./transport.js";

/** Path of the request that asks whether the server is there. */
const PING = "quicrpc.v1.Http/ping";

/** Makes a client that calls by HTTP, once the server has answered it there. A signal that fires closes it. */
export async function openHttp(
  url: URL,
  given: HttpProvider | (() => Promise<HttpProvider>),
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<ForeignClient> {
  const provider = typeof given === "function" ? await given() : given;
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const client = await provider.dial(base, settings);
  signal.addEventListener("abort", () => client.close());
  signal.throwIfAborted();
  // The page's policy names the URL of a request that it forbids.
  await ifAllowed(new URL(PING, base), async () => client.ping?.());
  return client;
}
