import type { ForeignClient } from "@quicrpc/core/transport";
import { ifAllowed } from "./policy.js";
import type { HttpProvider, HttpSettings } from "./transport.js";

/** Makes a client that calls by HTTP, once the server has answered it there. A signal that fires closes it. */
export async function openHttp(
  url: URL,
  given: HttpProvider | (() => Promise<HttpProvider>),
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<ForeignClient> {
  const provider = typeof given === "function" ? await given() : given;
  // Requests go to paths below it, and the page's policy names one of them where it forbids it.
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const client = await provider.dial(base, settings);
  signal.addEventListener("abort", () => client.close());
  signal.throwIfAborted();
  await ifAllowed(base, async () => client.ping?.());
  return client;
}
