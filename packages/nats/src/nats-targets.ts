import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import type { ResolveTargets } from "@quicrpc/pool";

/** Options of `natsTargets`. */
export interface NatsTargetsOptions {
  /** Milliseconds without another response after which a search ends. Default 300. */
  readonly quietMs?: number | undefined;
  /** Maximum duration of a search in milliseconds. Default 2000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<NatsTargetsOptions> = { quietMs: true, timeoutMs: true };

const DEFAULT_QUIET_MS = 300;
const DEFAULT_TIMEOUT_MS = 2000;
/** Maximum number of servers with the same name. Further responses are ignored. */
const MOST_SERVERS = 10_000;
/** Maximum size in bytes of the URLs of one server. `MOST_URLS` is their maximum number. */
const MOST_BYTES = 8192;
const MOST_URLS = 16;

/**
 * Returns a function for `connectPool` that finds the servers with a name. It sends a request over NATS and collects
 * the responses of `announceTargets`. A server that misses one request, for example because it is busy, is kept; after
 * a second miss it is removed. If no server responds or NATS cannot be reached, the search rejects, and the pool keeps
 * its targets. `name` consists of words separated by dots, such as "shop.orders".
 */
export function natsTargets(nats: NatsConnection, name: string, options: NatsTargetsOptions = {}): ResolveTargets {
  checkOptions("natsTargets()", options, OPTIONS);
  const { quietMs = DEFAULT_QUIET_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const subject = subjectOf(name);
  let before: ReadonlySet<string> = new Set();
  return async () => {
    const found = new Set<string>();
    const requestOptions = {
      strategy: "stall",
      stall: quietMs,
      maxWait: timeoutMs,
      maxMessages: MOST_SERVERS,
    } as const;
    for await (const reply of await nats.requestMany(subject, undefined, requestOptions)) {
      for (const url of urlsOf(reply)) found.add(url);
    }
    const all = Array.from(new Set([...found, ...before]));
    before = found;
    return all;
  };
}

/**
 * Answers clients that search for servers with this name. The response contains `urls`, the addresses of this server.
 * Call the returned function before the server drains, so that no new client finds it.
 */
export function announceTargets(nats: NatsConnection, name: string, urls: readonly string[]): () => void {
  const text = JSON.stringify(urls);
  if (urls.length === 0 || urls.length > MOST_URLS || Buffer.byteLength(text) > MOST_BYTES) {
    throw new TypeError(`announceTargets() requires 1 to ${MOST_URLS} URLs, of at most ${MOST_BYTES} bytes in total`);
  }
  const subscription = nats.subscribe(subjectOf(name), {
    callback: (error, question) => {
      if (error === null) question.respond(text);
    },
  });
  return () => subscription.unsubscribe();
}

function subjectOf(name: string): string {
  if (/^[\w-]+(\.[\w-]+)*$/.test(name)) return `quicrpc.targets.${name}`;
  throw new TypeError(`the name of targets must be words separated by dots, not ${JSON.stringify(name)}`);
}

/**
 * Returns the URLs in a response to a search. Ignores anything that is not a list of URLs, because anyone who may
 * publish on the NATS server can send a response. Also ignores NATS's own reply that nobody has received the request.
 */
function urlsOf({ data }: Msg): readonly string[] {
  if (data.length === 0 || data.length > MOST_BYTES) return [];
  try {
    const announcement: unknown = JSON.parse(Buffer.from(data).toString());
    if (!Array.isArray(announcement)) return [];
    return announcement
      .slice(0, MOST_URLS)
      .filter((url): url is string => typeof url === "string" && URL.canParse(url));
  } catch {
    return [];
  }
}
