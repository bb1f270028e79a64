/** Dials to one host that are made at once: half of what a server takes of an address before the address has to be proven. */
const MOST_AT_ONCE = 64;
/** A dial that takes longer, such as to a host that is silent, holds up no other. */
const LONGEST_TURN_MS = 1000;

/**
 * Spreads dials of this thread to one host, so that many of them, as after a server's restart, do not use up the places that
 * a server has for handshakes of one address: it would refuse most of them, and each would come back later and later.
 */
export class DialTurns {
  private underWay = 0;
  private readonly waiting: Set<() => void> = new Set();

  get idle(): boolean {
    return this.underWay === 0;
  }

  /** Dials when it is its turn. Rejects with the signal's reason if that fires before. */
  async take<T>(dial: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.underWay < MOST_AT_ONCE) this.underWay++;
    else await this.turn(signal);
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      this.next();
    };
    const timer = setTimeout(end, LONGEST_TURN_MS).unref();
    try {
      return await dial();
    } finally {
      clearTimeout(timer);
      end();
    }
  }

  /** Hands the place of a dial on. */
  private next(): void {
    const [first] = this.waiting;
    if (first === undefined) this.underWay--;
    else first();
  }

  private turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const settle = (): void => {
        this.waiting.delete(start);
        signal?.removeEventListener("abort", onAbort);
      };
      const start = (): void => {
        settle();
        resolve();
      };
      const onAbort = (): void => {
        settle();
        reject(signal?.reason);
      };
      this.waiting.add(start);
      signal?.addEventListener("abort", onAbort);
    });
  }
}

/** Turns by scheme and host, while dials are under way. */
const turnsByHost: Map<string, DialTurns> = new Map();

/** Makes a dial to the host of `url` in its turn. */
export async function inTurn<T>(url: URL, signal: AbortSignal | undefined, dial: () => Promise<T>): Promise<T> {
  const host = `${url.protocol}//${url.host || url.pathname}`;
  let turns = turnsByHost.get(host);
  if (turns === undefined) {
    turns = new DialTurns();
    turnsByHost.set(host, turns);
  }
  try {
    return await turns.take(dial, signal);
  } finally {
    // A dial that outlasted its turn may find the turns of later ones here.
    if (turns.idle && turnsByHost.get(host) === turns) turnsByHost.delete(host);
  }
}
