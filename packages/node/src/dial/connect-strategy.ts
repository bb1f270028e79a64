import type { Session } from "@quicrpc/core";
import { Fallback, guarded, NOTHING_BETTER, onAbort } from "@quicrpc/core/internal";
import { QuicSession } from "@quicrpc/quic";
import { isPermanent } from "../permanent.js";
import { dialFirst, type DialOnce, type FallbackOptions, FallbackTimer } from "./fallback.js";

/** Number of consecutive unanswered pings, sent about one second apart, after which a peer counts as silent. */
const UNANSWERED_PINGS = 3;
/**
 * Milliseconds that a silent session has to answer after a replacement session has opened. If it stays silent, it is
 * closed.
 */
const GRACE_MS = 3000;
/** Close code for a session whose peer does not answer. The code is not part of the protocol. */
const NO_ANSWER = 1;
/** Error codes of connection attempts and sessions over UDP that ended because the peer did not answer. */
const SILENCE = /^ERR_QUIC_(IDLE|HANDSHAKE)_TIMEOUT$/;

export interface StrategyOptions {
  /** Dials the preferred URL. If `freshPort` is true, uses another local UDP port than the previous attempt. */
  readonly preferred: (signal: AbortSignal, freshPort: boolean) => Promise<Session>;
  readonly fallback?: { readonly dial: DialOnce; readonly options: FallbackOptions } | undefined;
  /** Receives exceptions that the application's `onFallback` throws. */
  readonly onError: (error: unknown) => void;
}

/**
 * Creates the sessions of one connection, over the preferred URL or its fallback URL. Creates a replacement session if
 * the peer does not answer, or if the preferred URL works again.
 */
export class ConnectStrategy {
  private readonly options: StrategyOptions;
  private readonly fallback: Fallback<Error>;
  private readonly onFallback: (reason: Error) => void;
  private readonly overFallback: WeakSet<Session> = new WeakSet();
  /**
   * True if the last attempt or session ended without an answer. The next dial then uses a new local port, because a
   * relay on the path may still forward the old port's packets to a server that no longer runs.
   */
  private wasSilent = false;

  constructor(options: StrategyOptions) {
    const { fallback, onError } = options;
    this.options = options;
    this.onFallback = guarded(fallback?.options.onFallback ?? ((): void => {}), onError);
    const { retry, rememberMs } = fallback?.options ?? {};
    this.fallback = new Fallback({ memory: new FallbackTimer(rememberMs), retry });
  }

  async dial(signal: AbortSignal): Promise<Session> {
    const { fallback } = this.options;
    const first: DialOnce = (signal) => this.dialPreferred(signal);
    if (fallback === undefined) return first(signal);
    const {
      value: session,
      index,
      reasons,
    } = await this.fallback.open([first, fallback.dial], (ways) => dialFirst(ways, fallback.options, signal));
    if (index > 0) this.overFallback.add(session);
    for (const reason of reasons) this.onFallback(reason);
    return session;
  }

  /**
   * Resolves with a session that works better than `session`. If `session` uses the fallback, dials the preferred URL
   * again and again, with growing pauses. Otherwise waits until the peer of `session` does not answer, calls `redial`,
   * and closes `session` if the peer still does not answer. Rejects when the signal fires, or if no better session is
   * possible.
   */
  improve(session: Session, signal: AbortSignal, redial: DialOnce): Promise<Session> {
    return this.overFallback.has(session)
      ? this.returnToPreferred(signal)
      : this.replaceWhenSilent(session, signal, redial);
  }

  private async dialPreferred(signal: AbortSignal): Promise<Session> {
    const freshPort = this.wasSilent;
    this.wasSilent = false;
    try {
      const session = await this.options.preferred(signal, freshPort);
      void session.closed.then(({ error }) => this.noteSilence(error));
      return session;
    } catch (error) {
      // An attempt is also ended because another one was faster.
      this.wasSilent ||= signal.aborted;
      this.noteSilence(error);
      throw error;
    }
  }

  private noteSilence(error: unknown): void {
    this.wasSilent ||= SILENCE.test(String((error as { code?: unknown } | undefined)?.code));
  }

  private async returnToPreferred(signal: AbortSignal): Promise<Session> {
    const attempt = async (): Promise<Session> => {
      const session = await this.dialPreferred(signal);
      await session.ping();
      return session;
    };
    const onFailure = (error: unknown): void => {
      if (isPermanent(error as Error)) throw error;
    };
    const session = await this.fallback.retry(attempt, signal, onFailure);
    void this.fallback.noteAnswer(session);
    return session;
  }

  private async replaceWhenSilent(session: Session, signal: AbortSignal, redial: DialOnce): Promise<Session> {
    const { transport } = session;
    if (!(transport instanceof QuicSession)) throw NOTHING_BETTER;
    const received = (): number => transport.stats().receivedUdpDatagrams;
    for (;;) {
      await silence(transport, signal);
      const before = received();
      this.wasSilent = true;
      try {
        const other = await redial(signal);
        if (received() === before) {
          const close = (): void => {
            if (received() === before)
              void session.close({ closeCode: NO_ANSWER, reason: "the server did not answer" });
          };
          setTimeout(close, GRACE_MS).unref();
          return other;
        }
        void other.close();
      } catch {
        signal.throwIfAborted();
      }
    }
  }
}

/**
 * Resolves when the peer has left several consecutive pings unanswered while calls are waiting for a response. Rejects
 * when the signal fires.
 */
function silence(transport: QuicSession, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      transport.watchSilence(undefined);
      stopWatching();
      act();
    };
    const stopWatching = onAbort(signal, () => settle(() => reject(signal.reason)));
    transport.watchSilence((unanswered) => {
      if (unanswered >= UNANSWERED_PINGS) settle(resolve);
    });
  });
}
