import type { Session } from "@quicrpc/core";
import { type Backoff, backoffDelay, onAbort } from "@quicrpc/core/transport";
import { QuicSession } from "@quicrpc/quic";
import { isPermanent } from "../permanent.js";
import { type DialOnce, FallbackDialler, type FallbackOptions } from "./fallback.js";

/** Number of pings, about a second apart, after which a peer that answered none of them counts as silent. */
const UNANSWERED_PINGS = 3;
/** Milliseconds that a silent session has to answer once another session works. A ping leaves each second. */
const GRACE_MS = 3000;
/** Closes a session whose peer is silent; not a code of the protocol. */
const NO_ANSWER = 1;
/** Pauses between attempts to return from the fallback to the preferred URL. */
const DEFAULT_RETRY: Backoff = { initialMs: 5000, maxMs: 300_000, factor: 2 };
/** A session over the preferred URL that lasted this many milliseconds resets those pauses. */
const STABLE_MS = 60_000;
/** Codes of attempts and sessions over UDP that ended without an answer. */
const SILENCE = /^ERR_QUIC_(IDLE|HANDSHAKE)_TIMEOUT$/;

const NOTHING_BETTER: Error = new Error("no other session is better than this one");

/** How a connection dials. */
export interface StrategyOptions {
  /** Dials the preferred URL, with `freshPort` from another local UDP port than before. */
  readonly preferred: (signal: AbortSignal, freshPort: boolean) => Promise<Session>;
  /** Dials the fallback. Default: there is none. */
  readonly fallback?: { readonly dial: DialOnce; readonly options: FallbackOptions } | undefined;
  /** Receives exceptions of the application's hook. */
  readonly onError: (error: unknown) => void;
}

/**
 * Makes the sessions of one connection: over the preferred URL or its fallback, and another one when the peer is silent or when the preferred
 * URL works again.
 */
export class ConnectStrategy {
  private readonly options: StrategyOptions;
  private readonly dialler: FallbackDialler | undefined;
  private readonly retry: Backoff | undefined;
  /** The last attempt or session ended without an answer: a relay on the path may still lead the packets of its port to a server that is gone. */
  private wasSilent = false;
  /** Attempts to return to the preferred URL. */
  private attempts = 0;

  constructor(options: StrategyOptions) {
    const { fallback, onError } = options;
    const { retry = {} } = fallback?.options ?? {};
    this.options = options;
    this.retry = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
    const first: DialOnce = (signal) => this.dialPreferred(signal);
    this.dialler = fallback && new FallbackDialler({ first, fallback: fallback.dial, onError }, fallback.options);
  }

  dial(signal: AbortSignal): Promise<Session> {
    return this.dialler?.dial(signal) ?? this.dialPreferred(signal);
  }

  /**
   * Fulfils with a session that works better than `session`. If `session` is over the fallback, dials the preferred URL again, with growing pauses.
   * Otherwise calls `redial` when the peer of `session` is silent, and closes `session` if it stays silent. Rejects when the signal fires, or when
   * trying is pointless.
   */
  improve(session: Session, signal: AbortSignal, redial: DialOnce): Promise<Session> {
    return this.dialler?.isFallback(session) === true
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
    if (this.retry === undefined) throw NOTHING_BETTER;
    for (;;) {
      await pause(backoffDelay(this.attempts++, this.retry), signal);
      try {
        const session = await this.dialPreferred(signal);
        await session.ping();
        this.dialler?.forget();
        const since = Date.now();
        void session.closed.then(() => {
          if (Date.now() - since >= STABLE_MS) this.attempts = 0;
        });
        return session;
      } catch (error) {
        signal.throwIfAborted();
        if (isPermanent(error as Error)) throw error;
      }
    }
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

/** Waits until the peer has not answered several pings in a row, although calls wait for it. Rejects when the signal fires. */
function silence(transport: QuicSession, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      transport.watchSilence(undefined);
      forget();
      act();
    };
    const forget = onAbort(signal, () => settle(() => reject(signal.reason)));
    transport.watchSilence((unanswered) => {
      if (unanswered >= UNANSWERED_PINGS) settle(resolve);
    });
  });
}

/** Waits without keeping the process alive. Rejects when the signal fires. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, ms).unref();
  });
}
