import type { Candidate } from "./open.js";
import { ifAllowed } from "./policy.js";
import type { HttpProvider, HttpSettings, Reached } from "./transport.js";

/** The way by HTTP, which is ready once the server has answered there. */
export function httpCandidate(
  url: URL,
  given: HttpProvider | (() => Promise<HttpProvider>),
  settings: HttpSettings,
): Candidate<Reached> {
  // Requests go to paths below it, and a policy of the page names one of them where it forbids it.
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return {
    kind: "http",
    name: "HTTP",
    async open(signal) {
      const provider = typeof given === "function" ? await given() : given;
      const client = await provider.dial(base, settings);
      const giveUp = (): void => client.close();
      signal.addEventListener("abort", giveUp);
      signal.throwIfAborted();
      await ifAllowed(base, async () => client.ping?.());
      return client;
    },
  };
}
