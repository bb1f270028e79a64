import type { FallbackMemory, Skipped } from "@quicrpc/core/internal";

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

interface Entry extends Skipped<string> {
  /** Expiry of the entry, in milliseconds since the epoch. */
  readonly until: number;
}

const entries: Map<string, string> = new Map();
/** Replacement for the browser's storage, if there is none (as in workers) or the page must not use it. */
const ofThisScope: Store = {
  getItem: (key) => entries.get(key) ?? null,
  setItem: (key, text) => void entries.set(key, text),
  removeItem: (key) => void entries.delete(key),
};

/**
 * Stores in the browser that the first transports to a server have failed. The next page or session then uses the
 * following transport at once, without waiting for the failure again. The entry expires after some time, and is removed
 * when the first transport works.
 */
export class Memory implements FallbackMemory<string> {
  readonly #key: string;
  readonly #rememberMs: number;

  constructor(url: URL, rememberMs: number) {
    this.#key = `quicrpc ${url.host}`;
    this.#rememberMs = rememberMs;
  }

  /**
   * Transports to skip, with the reason. Undefined if nothing is stored, so that the first transport is tried first.
   */
  get skipped(): Skipped<string> | undefined {
    const { until, ...skipped } = parse(store().getItem(this.#key));
    const remainingMs = until - Date.now();
    // More than it can be: the clock was set back.
    return remainingMs > 0 && remainingMs <= this.#rememberMs ? skipped : undefined;
  }

  remember(skipped: Skipped<string>): void {
    if (this.#rememberMs === 0) return;
    const entry: Entry = { ...skipped, until: Date.now() + this.#rememberMs };
    try {
      store().setItem(this.#key, JSON.stringify(entry));
    } catch {
      // The storage is full: nothing is remembered.
    }
  }

  reset(): void {
    store().removeItem(this.#key);
  }
}

function store(): Store {
  try {
    return globalThis.localStorage ?? ofThisScope;
  } catch {
    return ofThisScope;
  }
}

function parse(text: string | null): Entry {
  try {
    const { reason, count, until } = JSON.parse(text ?? "{}") as Partial<Entry>;
    const isWhole = typeof reason === "string" && Number.isSafeInteger(count) && typeof until === "number";
    if (isWhole) return { reason, count: Math.max(0, count as number), until };
  } catch {
    // Somebody else's text under this key.
  }
  return { reason: "", count: 0, until: 0 };
}
