type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** One server's entry. */
interface Entry {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const entries: Map<string, string> = new Map();
/** A substitute for the storage where there is none, as in workers, or the page may not have it. */
const ofThisScope: Store = {
  getItem: (key) => entries.get(key) ?? null,
  setItem: (key, text) => void entries.set(key, text),
  removeItem: (key) => void entries.delete(key),
};

/**
 * Memory of this browser of the way to one server: that the first transport failed there, which took a while to find out, so
 * that the next page or session takes the fallback at once. It is forgotten after some time, and when the transport works.
 */
export class Memory {
  private readonly key: string;
  private readonly rememberMs: number;

  constructor(url: URL, rememberMs: number) {
    this.key = `quicrpc ${url.host}`;
    this.rememberMs = rememberMs;
  }

  /** Why the first transport is not tried before the fallback; undefined where it is. */
  get reason(): string | undefined {
    const { reason, until } = parse(store().getItem(this.key));
    const left = until - Date.now();
    // More than it can be: the clock was set back.
    return left > 0 && left <= this.rememberMs ? reason : undefined;
  }

  remember(reason: string): void {
    if (this.rememberMs === 0) return;
    const entry: Entry = { reason, until: Date.now() + this.rememberMs };
    try {
      store().setItem(this.key, JSON.stringify(entry));
    } catch {
      // The storage is full: nothing is remembered.
    }
  }

  forget(): void {
    store().removeItem(this.key);
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
    const { reason, until } = JSON.parse(text ?? "{}") as Partial<Entry>;
    if (typeof reason === "string" && typeof until === "number") return { reason, until };
  } catch {
    // Somebody else's text under this key.
  }
  return { reason: "", until: 0 };
}
