import type { Connection, Session } from "@quicrpc/core";
import type { BrowserTransport } from "./transport.js";

/** Milliseconds within which the peer must answer when the network or the page comes back. */
const ANSWER_MS = 3000;
/** Code that closes a session without an answer; not a code of the protocol. */
export const NO_ANSWER = 1;

/** A connection that follows the page's events, and whose transports can be closed at once. */
type WatchedConnection = Connection<Session<BrowserTransport>>;

/** The used part of a window's or a worker's global scope. React Native's has no events. */
export type Scope = Partial<Pick<EventTarget, "addEventListener" | "removeEventListener">>;

/**
 * Handles the events of a connection's page: a session that the network or sleep has cut off is noticed at once rather
 * than after half a minute, the next attempt starts at once when it is likely to succeed, and a page that is left
 * closes its session, so that the server is notified. Workers do not receive some of these events.
 */
export class PageLifecycle {
  readonly #scope: Scope;
  /** Resolves when the page returns from the browser's back/forward cache. */
  #restored: Promise<void> | undefined = undefined;
  #onBack: () => void = () => {};

  constructor(scope: Scope = globalThis) {
    this.#scope = scope;
  }

  /** Resolves when the page is present: at once, unless it was left. */
  async present(): Promise<void> {
    await this.#restored;
  }

  /** Follows the connection until it is closed. `onNetwork` is called when there is a network again. */
  watch(connection: WatchedConnection, onNetwork: () => void): void {
    const check = (): void => void this.#check(connection);
    const listeners: Record<string, () => void> = {
      offline: check,
      online: () => {
        check();
        connection.connect();
        onNetwork();
      },
      pagehide: () => this.#closeForCache(connection),
      pageshow: () => {
        this.#onBack();
        connection.connect();
      },
      // An event of the document. A page that is about to be frozen would see an answer after the time for it is over.
      visibilitychange: () => {
        if (globalThis.document.visibilityState !== "visible") return;
        check();
        connection.connect();
      },
    };
    for (const [type, listener] of Object.entries(listeners)) this.#scope.addEventListener?.(type, listener);
    void connection.closed.then(() => {
      this.#onBack();
      for (const [type, listener] of Object.entries(listeners)) this.#scope.removeEventListener?.(type, listener);
    });
  }

  /**
   * Called when the page is left. The browser may cache it and restore it later: until then nothing is dialled, since
   * browsers do not cache a page with a session.
   */
  #closeForCache(connection: WatchedConnection): void {
    this.#restored ??= new Promise((resolve) => {
      this.#onBack = () => {
        this.#restored = undefined;
        resolve();
      };
    });
    // Without waiting: after this turn the page's code no longer runs.
    connection.session?.transport.close({ closeCode: 0, reason: "the page was left" });
  }

  async #check({ session }: WatchedConnection): Promise<void> {
    if (session !== undefined) await pingAnswered(session, "the network or the page came back");
  }
}

/**
 * Returns whether the peer answers a ping in time; closes the session if not. Returns undefined for a session that has
 * ended by itself.
 */
export async function pingAnswered(session: Session, event: string): Promise<boolean | undefined> {
  let silent = false;
  const timer = setTimeout(() => {
    silent = true;
    void session.close({ closeCode: NO_ANSWER, reason: `no answer within ${ANSWER_MS} ms after ${event}` });
  }, ANSWER_MS);
  const answered = await session.ping().then(
    () => true,
    () => undefined,
  );
  clearTimeout(timer);
  return silent ? false : answered;
}
