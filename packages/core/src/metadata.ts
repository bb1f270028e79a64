/** A value of metadata: bytes under a key that ends in `-bin`, text under any other, as in gRPC. */
export type MetadataValue = string | Uint8Array;

type ValueOf<Key extends string> = string extends Key
  ? MetadataValue
  : Lowercase<Key> extends `${string}-bin`
    ? Uint8Array
    : string;

/** What metadata can be made from. An array as a value repeats its key. */
export type MetadataInit =
  | Metadata
  | Iterable<readonly [key: string, value: MetadataValue]>
  | Readonly<Record<string, MetadataValue | readonly MetadataValue[]>>;

/** Keys are compared in lower case; these characters and no others travel. */
const KEY = /^[a-z0-9_.-]+$/;
/** Keys of the protocol's own: nobody can set them, and no peer can send them. */
export const RESERVED_PREFIX = "quicrpc-";
export const MAX_KEY_BYTES = 256;

/**
 * What goes with a call beside its messages: keys with text or bytes, in the order they were added. A key may repeat. Keys
 * are case-insensitive and made of ASCII letters, digits, `_`, `.` and `-`; those that begin with `quicrpc-` are
 * reserved. Values are sent as they are: text as UTF-8, whatever its characters.
 */
export class Metadata implements Iterable<[key: string, value: MetadataValue]> {
  // Not an object, nor a map: keys come from the wire, order counts, and there are few.
  readonly #entries: [string, MetadataValue][] = [];

  /** Throws `TypeError` as `append` does. */
  constructor(init?: MetadataInit) {
    if (init === undefined) return;
    if (Symbol.iterator in init) {
      for (const [key, value] of init) this.append(key, value);
      return;
    }
    for (const [key, value] of Object.entries(init)) {
      if (Array.isArray(value)) for (const one of value as readonly MetadataValue[]) this.append(key, one);
      else this.append(key, value as MetadataValue);
    }
  }

  /** `init` itself if it is metadata already. */
  static from(init: MetadataInit | undefined): Metadata {
    return init instanceof Metadata ? init : new Metadata(init);
  }

  /** How many values there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** The first value of `key`. */
  get<Key extends string>(key: Key): ValueOf<Key> | undefined {
    const wanted = key.toLowerCase();
    return this.#entries.find(([present]) => present === wanted)?.[1] as ValueOf<Key> | undefined;
  }

  /** All values of `key`, in order. */
  getAll<Key extends string>(key: Key): ValueOf<Key>[] {
    const wanted = key.toLowerCase();
    return this.#entries.filter(([present]) => present === wanted).map(([, value]) => value as ValueOf<Key>);
  }

  has(key: string): boolean {
    const wanted = key.toLowerCase();
    return this.#entries.some(([present]) => present === wanted);
  }

  /** Replaces all values of `key` by one. Throws as `append` does. */
  set<Key extends string>(key: Key, value: ValueOf<Key>): this {
    const entry = checked(key, value);
    this.delete(key);
    this.#entries.push(entry);
    return this;
  }

  /** Adds a value. Throws `TypeError` for a key that is reserved or cannot be sent, or a value of the wrong type. */
  append<Key extends string>(key: Key, value: ValueOf<Key>): this {
    this.#entries.push(checked(key, value));
    return this;
  }

  /** Removes all values of `key`. */
  delete(key: string): this {
    const unwanted = key.toLowerCase();
    const kept = this.#entries.filter(([present]) => present !== unwanted);
    this.#entries.splice(0, Infinity, ...kept);
    return this;
  }

  /** Keys, in lower case, with their values, in order. */
  entries(): IterableIterator<[key: string, value: MetadataValue]> {
    return this.#entries.map(([key, value]): [string, MetadataValue] => [key, value]).values();
  }

  [Symbol.iterator](): IterableIterator<[key: string, value: MetadataValue]> {
    return this.entries();
  }
}

/** Whether the value of `key` is bytes. */
export function isBinaryKey(key: string): boolean {
  return key.endsWith("-bin");
}

function checked(key: string, value: MetadataValue): [string, MetadataValue] {
  const name = key.toLowerCase();
  if (!KEY.test(name) || name.length > MAX_KEY_BYTES) {
    throw new TypeError(
      `metadata key ${JSON.stringify(key)} is not 1 to ${MAX_KEY_BYTES} of a-z, 0-9, "_", "." and "-"`,
    );
  }
  if (name.startsWith(RESERVED_PREFIX))
    throw new TypeError(`metadata keys that begin with "${RESERVED_PREFIX}" are reserved`);
  if (isBinaryKey(name) ? !(value instanceof Uint8Array) : typeof value !== "string") {
    const wanted = isBinaryKey(name) ? "bytes, since it ends in -bin" : "text; bytes need a key that ends in -bin";
    throw new TypeError(`the value of metadata key ${name} must be ${wanted}`);
  }
  return [name, value];
}
