import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { checkOptions, type OptionNames, type ResolveTargets } from "@quicrpc/core/transport";

/** Options of `natsTargets`. */
export interface NatsTargetsOptions {
  /** Milliseconds after an answer until there is taken to be no other. Default 300. */
  readonly quietMs?: number | undefined;
  /** The most milliseconds that answers are waited for. Default 2000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<NatsTargetsOptions> = { quietMs: true, timeoutMs: true };

const DEFAULT_QUIET_MS = 300;
const DEFAULT_TIMEOUT_MS = 2000;
/** Servers of one name; further answers are passed over. */
const MOST_SERVERS = 10_000;
/** Bytes of a server's URLs, and URLs of one server. */
const MOST_BYTES = 8192;
const MOST_URLS = 16;

/**
 * Finds the servers of one name for `connectPool`: asks by NATS, and takes what those that `announceTargets` announces answer. One that does not answer
 * once, as where it was busy, is kept; after the second time it is left out. Where nobody answers, or NATS is out of reach, this rejects, and the pool keeps
 * what it has. `name` is words with dots between them, such as "shop.orders".
 */
export function natsTargets(nats: NatsConnection, name: string, options: NatsTargetsOptions = {}): ResolveTargets {
  checkOptions("natsTargets()", options, OPTIONS);
  const { quietMs = DEFAULT_QUIET_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const subject = subjectOf(name);
  let before: ReadonlySet<string> = new Set();
  return async () => {
    const found = new Set<string>();
    const asked = { strategy: "stall", stall: quietMs, maxWait: timeoutMs, maxMessages: MOST_SERVERS } as const;
    for await (const answer of await nats.requestMany(subject, undefined, asked)) {
      for (const url of urlsOf(answer)) found.add(url);
    }
    const all = Array.from(new Set([...found, ...before]));
    before = found;
    return all;
  };
}

/**
 * Answers clients that look for servers of this name with `urls`: where they reach this one. Call what this returns before the server drains, so
 * that nobody new finds it.
 */
export function announceTargets(nats: NatsConnection, name: string, urls: readonly string[]): () => void {
  const text = JSON.stringify(urls);
  if (urls.length === 0 || urls.length > MOST_URLS || Buffer.byteLength(text) > MOST_BYTES) {
    throw new TypeError(`announceTargets() takes 1 to ${MOST_URLS} URLs, of ${MOST_BYTES} bytes in all`);
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
  throw new TypeError(`the name of targets is words with dots between them, and not ${JSON.stringify(name)}`);
}

/** Whoever may publish on the NATS server may answer. What is no list of URLs says nothing, and neither does NATS's own answer that nobody is there. */
function urlsOf({ data }: Msg): readonly string[] {
  if (data.length === 0 || data.length > MOST_BYTES) return [];
  try {
    const said: unknown = JSON.parse(Buffer.from(data).toString());
    if (!Array.isArray(said)) return [];
    return said.slice(0, MOST_URLS).filter((url): url is string => typeof url === "string" && URL.canParse(url));
  } catch {
    return [];
  }
}
