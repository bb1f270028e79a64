import { guarded } from "@quicrpc/core/transport";
import { type Session, TransportError } from "@quicrpc/core";
import { isPermanent } from "../permanent.js";
import { isMissingEngine } from "../transport/failure.js";

/** When another URL of the same server is tried, and which. */
export interface FallbackOptions {
  /** The server's other URL, which needs neither UDP nor the native engine, such as "wss://api.example:4433". */
  readonly url: string | URL;
  /** Milliseconds for which the first URL is tried alone. Default 1500. */
  readonly afterMs?: number;
  /** Milliseconds for which new sessions take the fallback at once, after the first URL gave no answer. Default 10 minutes. */
  readonly rememberMs?: number;
  /** Called with the reason, each time that a session is made over the fallback. */
  readonly onFallback?: (reason: Error) => void;
}

/** Makes a session, or rejects when the signal fires. */
export type DialOnce = (signal: AbortSignal) => Promise<Session>;

const AFTER_MS = 1500;
const REMEMBER_MS = 600_000;

/** The two ways to one server. */
export interface Ways {
  readonly first: DialOnce;
  readonly fallback: DialOnce;
  /** Called with what the application's hook throws. */
  readonly onError: (error: unknown) => void;
}

/**
 * Makes each session by the first of two ways, or else by the fallback, which is tried as soon as the first has failed or has
 * not answered for a while: the session that is ready first wins. A failure that lies in what was given, such as a certificate
 * that is not trusted, is nothing to fall back from.
 */
export class FallbackDialler {
  private readonly ways: Ways;
  private readonly options: FallbackOptions;
  private readonly tell: (reason: Error) => void;
  /** The first way gave no answer, and is not tried before this time. */
  private avoided: { readonly reason: Error; readonly until: number } | undefined = undefined;

  constructor(ways: Ways, options: FallbackOptions) {
    this.ways = ways;
    this.options = options;
    this.tell = guarded(options.onFallback ?? ((): void => {}), ways.onError);
  }

  async dial(signal: AbortSignal): Promise<Session> {
    const { avoided } = this;
    this.avoided = undefined;
    if (avoided === undefined || performance.now() >= avoided.until) return this.race(signal);
    const session = await this.ways.fallback(signal);
    // Only while the fallback works: else the first may be as good.
    this.avoided = avoided;
    this.tell(avoided.reason);
    return session;
  }

  private async race(signal: AbortSignal): Promise<Session> {
    const faster = new AbortController();
    const either = AbortSignal.any([signal, faster.signal]);
    const first = this.ways.first(either).then((session): Made => ({ session, reason: undefined }));
    const fallback = this.reasonBesides(first).then(
      async (reason): Promise<Made> => ({ session: await this.ways.fallback(either), reason }),
    );
    const ways = [first, fallback];
    try {
      const { session, reason } = await Promise.any(ways);
      for (const way of ways) void closeOther(way, session);
      if (reason !== undefined) this.fellBack(reason);
      return session;
    } catch (error) {
      signal.throwIfAborted();
      throw bothFailed((error as AggregateError).errors);
    } finally {
      faster.abort(new Error("the other way to the server was faster"));
    }
  }

  /** Why the fallback is to be tried as well. Rejects where that is pointless; pending for ever where the first way is in time. */
  private reasonBesides(first: Promise<unknown>): Promise<Error> {
    const { afterMs = AFTER_MS } = this.options;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => resolve(new NoAnswer(afterMs)), afterMs);
      first.catch((error: Error) => (isMissingEngine(error) || !isPermanent(error) ? resolve(error) : reject(error)));
      const settled = (): void => clearTimeout(late);
      first.then(settled, settled);
    });
  }

  private fellBack(reason: Error): void {
    const { rememberMs = REMEMBER_MS } = this.options;
    // What fails at once costs no wait the next time either.
    if (reason instanceof NoAnswer) this.avoided = { reason, until: performance.now() + rememberMs };
    this.tell(reason);
  }
}

/** A session, and why it is not by the first way. */
interface Made {
  readonly session: Session;
  readonly reason: Error | undefined;
}

class NoAnswer extends Error {
  constructor(afterMs: number) {
    super(`no answer within ${afterMs} ms: UDP may be blocked`);
  }
}

/** The slower way may have made a session all the same. */
async function closeOther(way: Promise<Made>, taken: Session): Promise<void> {
  const made = await way.catch(() => undefined);
  if (made !== undefined && made.session !== taken) await made.session.close();
}

function bothFailed([first, fallback]: readonly Error[]): unknown {
  if (first === fallback || !(first instanceof TransportError) || !(fallback instanceof Error)) return first;
  const { code, url, message, hint } = first;
  const text = `${message}; and by its fallback: ${fallback.message}`;
  return new TransportError({ code, url, message: text, hint, cause: new AggregateError([first, fallback], text) });
}
