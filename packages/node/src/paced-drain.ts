import type { Session } from "@quicrpc/core";
import type { SessionDrainOptions, Unacknowledged } from "@quicrpc/core/internal";
import type { ServerDrainOptions } from "./server.js";

/** Default time in milliseconds between the drains of two sessions. */
const MS_PER_SESSION = 1;
/** Maximum share of a drain's time in which the sessions are notified one after another, unless `spreadMs` is set. */
const MOST_OF_TIME = 0.25;

export function checkDrain({ to, spreadMs = 0 }: ServerDrainOptions): void {
  if (to !== undefined && !URL.canParse(to))
    throw new TypeError(`\`to\` of drain() must be a URL, not ${JSON.stringify(to)}`);
  if (!(spreadMs >= 0)) throw new TypeError(`spreadMs must be a number of milliseconds of at least 0, not ${spreadMs}`);
}

/**
 * Drains the sessions of a server at equal intervals, so that their clients do not all reconnect at the same time. Each
 * session may use the rest of `timeoutMs` for its calls in progress. Resolves when all sessions have ended.
 */
export async function pacedDrain(
  sessions: Iterable<Session>,
  { timeoutMs, to, spreadMs }: ServerDrainOptions & { readonly timeoutMs: number },
): Promise<Unacknowledged[]> {
  const all = [...sessions];
  const usual = Math.min(all.length * MS_PER_SESSION, timeoutMs * MOST_OF_TIME);
  const spread = Math.min(spreadMs ?? usual, timeoutMs);
  const drain = async (session: Session, afterMs: number): Promise<Unacknowledged> => {
    if (afterMs > 0) await pause(afterMs, session.closed);
    const options: SessionDrainOptions = { timeoutMs: timeoutMs - afterMs, to, final: true };
    return session.drain(options);
  };
  return Promise.all(all.map((session, index) => drain(session, Math.floor((index * spread) / all.length))));
}

/** Waits for `ms` milliseconds, or until the promise `end` resolves if that is earlier. */
async function pause(ms: number, end: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timedOut = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([timedOut, end]);
  clearTimeout(timer);
}
