import type { Connection, Session } from "@quicrpc/core";
import type { BrowserTransport } from "./transport.js";

/**
 * Milliseconds within which the peer must answer a ping after the network is available again or the page is shown
 * again.
 */
const ANSWER_MS = 3000;
/** Close code for a session whose peer does not answer. The code is not part of the protocol. */
export const NO_ANSWER = 1;

type WatchedConnection = Connection<Session<BrowserTransport>>;

/**
 * The members of a window's or worker's global scope that are used. They are missing in React Native, which has no such
 * events.
 */
export type Scope = Partial<Pick<EventTarget, "addEventListener">>;

/**
 * Handles the events of a connection's page. It notices at once that a session was cut off by the network or by sleep,
 * instead of after half a minute. It starts the next attempt at once when that attempt is likely to succeed. It closes
 * the session when the user leaves the page, so that the server is notified. Workers do not receive some of these
 * events.
 */
export class PageLifecycle {
  readonly #scope: Scope;
  /**
   * Resolves when the page returns from the browser's back/forward cache. Undefined if the page is not in the cache.
   */
  #restored: Promise<void> | undefined = undefined;
  #onBack: () => void = () => {};

  constructor(scope: Scope = globalThis) {
    this.#scope = scope;
  }

  /** Resolves when the page is not in the back/forward cache. This is at once in most cases. */
  async present(): Promise<void> {
    await this.#restored;
  }

  /**
   * Makes the connection react to the page's events until it is closed. Calls `onNetwork` when the network is available
   * again.
   */
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
      // An event of the document. A page that is about to be frozen would see a response only after its timeout.
      visibilitychange: () => {
        if (globalThis.document.visibilityState !== "visible") return;
        check();
        connection.connect();
      },
    };
    const watching = new AbortController();
    for (const [type, listener] of Object.entries(listeners)) this.#scope.addEventListener?.(type, listener, watching);
    void connection.closed.then(() => {
      this.#onBack();
      watching.abort();
    });
  }

  /**
   * Closes the connection's session because the user leaves the page. The browser may store the page in its
   * back/forward cache and restore it later. No session is created until then, because browsers do not cache a page
   * with a session.
   */
  #closeForCache(connection: WatchedConnection): void {
    this.#restored ??= new Promise((resolve) => {
      this.#onBack = () => {
        this.#restored = undefined;
        resolve();
      };
    });
    // Does not wait, because the page's code no longer runs after this turn of the event loop.
    connection.session?.transport.close({ closeCode: 0, reason: "the page was left" });
  }

  async #check({ session }: WatchedConnection): Promise<void> {
    if (session !== undefined) await pingAnswered(session, "the network or the page came back");
  }
}

/**
 * Pings the peer of a session. Returns true if it answers in time. Otherwise closes the session and returns false.
 * Returns undefined if the session has already ended.
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
