import { onAbort, publicUrl, refusedOption, SESSION_NEEDS } from "@quicrpc/core/internal";
import type { ForeignClient } from "@quicrpc/core/transport";
import { ifAllowed } from "./policy.js";
import type { HttpProvider, HttpSettings, OfSessions } from "./transport.js";

const OVER_HTTP = { name: "HTTP", capabilities: {} } as const;

/** Path of the HTTP request that checks whether the server can be reached. */
const PING = "quicrpc.v1.Http/ping";

/**
 * Creates a client that makes calls over HTTP, after the server has answered a test request. The client is closed when
 * the signal fires. Rejects without a request if an option requires sessions.
 */
export async function openHttp(
  url: URL,
  providerOrLoad: HttpProvider | (() => Promise<HttpProvider>),
  { credentials, limits, metadata, proof }: HttpSettings & OfSessions,
  signal: AbortSignal,
): Promise<ForeignClient> {
  const refused = refusedOption(publicUrl(url), OVER_HTTP, { metadata, proof }, SESSION_NEEDS);
  if (refused !== undefined) throw new Error(`not attempted, because ${refused}`);
  const provider = typeof providerOrLoad === "function" ? await providerOrLoad() : providerOrLoad;
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const client = await provider.dial(base, { credentials, limits });
  onAbort(signal, () => client.close());
  signal.throwIfAborted();
  // The page's Content Security Policy reports the URL of the request that it forbids.
  await ifAllowed(new URL(PING, base), async () => client.ping?.());
  return client;
}
