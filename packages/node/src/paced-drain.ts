import type { Session } from "@quicrpc/core";
import type { SessionDrainOptions, Unacknowledged } from "@quicrpc/core/transport";
import type { ServerDrainOptions } from "./server.js";

/** Milliseconds for each session, where nothing else is said. */
const MS_PER_SESSION = 1;
/** The share of a drain's time that telling the sessions takes at most, where nothing else is said. */
const MOST_OF_TIME = 0.25;

/** Throws `TypeError` for options that a drain cannot use. */
export function checkDrain({ to, spreadMs = 0 }: ServerDrainOptions): void {
  if (to !== undefined && !URL.canParse(to))
    throw new TypeError(`drain() takes a URL as \`to\`, not ${JSON.stringify(to)}`);
  if (!(spreadMs >= 0)) throw new TypeError(`spreadMs is ${spreadMs}: it takes milliseconds from 0 on`);
}

/**
 * Drains the sessions of a server that ends: the first at once, the others at equal distances, so that their clients do not arrive elsewhere at
 * once. Each has what is left of `timeoutMs`. Resolves when all have ended.
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

/** Waits until so many milliseconds are over, or `ended` fulfils. */
async function pause(ms: number, ended: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([over, ended]);
  clearTimeout(timer);
}
