/** A metadata value: bytes if its key ends in `-bin`, otherwise a string, as in gRPC. */
export type MetadataValue = string | Uint8Array;

type ValueOf<Key extends string> = string extends Key
  ? MetadataValue
  : Lowercase<Key> extends `${string}-bin`
    ? Uint8Array
    : string;

/** Accepted forms of metadata. An array repeats its key. */
export type MetadataInit =
  | Metadata
  | Iterable<readonly [key: string, value: MetadataValue]>
  | Readonly<Record<string, MetadataValue | readonly MetadataValue[]>>;

type Entry = [key: string, value: MetadataValue];

/** Keys are compared in lower case, and may only contain these characters. */
const KEY = /^(?!quicrpc-)[a-z0-9_.-]{1,256}$/;

/**
 * Metadata of a call, sent in addition to its messages: keys with strings or bytes, in insertion order. A key may
 * repeat. Keys are case-insensitive and consist of ASCII letters, digits, `_`, `.` and `-`; the prefix `quicrpc-` is
 * reserved. Values are sent unchanged; strings may contain any characters and are sent as UTF-8.
 */
export class Metadata implements Iterable<[key: string, value: MetadataValue]> {
  // Neither an object nor a map: keys come from the wire, order matters, and there are few.
  #entries: Entry[] = [];
  /** Reads the entries from the received bytes, until they are changed. */
  #read: (() => Iterable<Entry>) | undefined;

  /** Throws `TypeError` for invalid keys and values, as `append` does. */
  constructor(init?: MetadataInit) {
    if (init === undefined) return;
    const entries = Symbol.iterator in init ? init : Object.entries(init);
    for (const [key, values] of entries) {
      for (const value of Array.isArray(values) ? (values as MetadataValue[]) : [values as MetadataValue]) {
        this.append(key, value);
      }
    }
  }

  /**
   * Creates metadata that calls `read` at each access instead of storing entries. Received metadata then takes no more
   * memory than its bytes; many small entries would take a multiple.
   */
  static reading(read: () => Iterable<Entry>): Metadata {
    const metadata = new Metadata();
    metadata.#read = read;
    return metadata;
  }

  /** Returns `init` itself if it is `Metadata`, else new metadata made from it. */
  static from(init: MetadataInit | undefined): Metadata {
    return init instanceof Metadata ? init : new Metadata(init);
  }

  /** Number of values. */
  get size(): number {
    return [...this.#present()].length;
  }

  /** Returns the first value of `key`. */
  get<Key extends string>(key: Key): ValueOf<Key> | undefined {
    const lowerKey = key.toLowerCase();
    for (const [present, value] of this.#present()) if (present === lowerKey) return value as ValueOf<Key>;
    return undefined;
  }

  /** Returns all values of `key`, in order. */
  getAll<Key extends string>(key: Key): ValueOf<Key>[] {
    const lowerKey = key.toLowerCase();
    return [...this.#present()].filter(([present]) => present === lowerKey).map(([, value]) => value as ValueOf<Key>);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** Replaces all values of `key` by one. Throws `TypeError` as `append` does. */
  set<Key extends string>(key: Key, value: ValueOf<Key>): this {
    const entry = checked(key, value);
    this.delete(key);
    this.#entries.push(entry);
    return this;
  }

  /** Adds a value. Throws `TypeError` if the key is reserved or contains an invalid character, or if the value has the wrong type. */
  append<Key extends string>(key: Key, value: ValueOf<Key>): this {
    this.#own().push(checked(key, value));
    return this;
  }

  /** Removes all values of `key`. */
  delete(key: string): this {
    const unwanted = key.toLowerCase();
    this.#entries = this.#own().filter(([present]) => present !== unwanted);
    return this;
  }

  /** Iterates over keys, in lower case, and values, in order. */
  entries(): IterableIterator<[key: string, value: MetadataValue]> {
    return Array.from(this.#present(), ([key, value]): Entry => [key, value]).values();
  }

  [Symbol.iterator](): IterableIterator<[key: string, value: MetadataValue]> {
    return this.entries();
  }

  #present(): Iterable<Entry> {
    return this.#read?.() ?? this.#entries;
  }

  #own(): Entry[] {
    if (this.#read !== undefined) {
      this.#entries = [...this.#read()];
      this.#read = undefined;
    }
    return this.#entries;
  }
}

export function isBinaryKey(key: string): boolean {
  return key.endsWith("-bin");
}

/** Returns the reason why a lower-case key is invalid; undefined if it is valid. */
export function keyProblem(key: string): string | undefined {
  if (KEY.test(key)) return undefined;
  return `metadata key ${JSON.stringify(key)} is reserved (quicrpc-*), or not 1 to 256 of a-z, 0-9, "_", "." and "-"`;
}

function checked(key: string, value: MetadataValue): Entry {
  const name = key.toLowerCase();
  let problem = keyProblem(name);
  if (isBinaryKey(name) ? !(value instanceof Uint8Array) : typeof value !== "string")
    problem ??= `metadata key ${name} takes ${isBinaryKey(name) ? "bytes" : "text; for bytes it must end in -bin"}`;
  if (problem !== undefined) throw new TypeError(problem);
  return [name, value];
}
