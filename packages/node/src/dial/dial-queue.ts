/**
 * Maximum number of concurrent dials to one host: half of the handshakes that a server accepts from one address before
 * it asks the client to prove its address.
 */
const MOST_AT_ONCE = 64;
/**
 * Milliseconds after which a slow dial, for example to a host that does not respond, stops counting against the limit.
 */
const MAX_BLOCKING_MS = 1000;

/**
 * Limits this thread's concurrent dials to one host. Without a limit, many dials at once, for example after a server
 * restart, would exceed the number of handshakes that the server accepts from one address. The server would refuse most
 * of them and the clients would retry after longer and longer delays.
 */
export class DialQueue {
  private dialling = 0;
  private readonly waiting: Set<() => void> = new Set();

  get idle(): boolean {
    return this.dialling === 0;
  }

  /** Calls `dial` as soon as the limit permits. Rejects with the signal's reason if the signal fires first. */
  async run<T>(dial: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.dialling < MOST_AT_ONCE) this.dialling++;
    else await this.waitForPlace(signal);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.next();
    };
    const timer = setTimeout(end, MAX_BLOCKING_MS).unref();
    try {
      return await dial();
    } finally {
      clearTimeout(timer);
      end();
    }
  }

  private next(): void {
    const [first] = this.waiting;
    if (first === undefined) this.dialling--;
    else first();
  }

  private waitForPlace(signal: AbortSignal | undefined): Promise<void> {
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

/** Dial queues of this thread, by URL scheme and host. */
const queues: Map<string, DialQueue> = new Map();

export async function dialQueued<T>(url: URL, signal: AbortSignal | undefined, dial: () => Promise<T>): Promise<T> {
  const host = `${url.protocol}//${url.host || url.pathname}`;
  let queue = queues.get(host);
  if (queue === undefined) {
    queue = new DialQueue();
    queues.set(host, queue);
  }
  try {
    return await queue.run(dial, signal);
  } finally {
    // If this dial took long, the map may already contain a newer queue for the same host.
    if (queue.idle && queues.get(host) === queue) queues.delete(host);
  }
}
