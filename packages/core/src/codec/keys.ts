import { misfit } from "../msgpack/misfit.js";
import { allowance, type Reader, readString, skip } from "../msgpack/reader.js";

interface Key {
  readonly index: number;
  /** As MessagePack. */
  readonly bytes: Uint8Array;
  /** The key that was found after it the last time. */
  next: Key | undefined;
}

/**
 * The keys of an object, for its reader where one comes that it does not expect. A peer writes the keys of an object in one order,
 * whichever it is, so that which key follows another is remembered: then its bytes are compared, and no string is made.
 */
export class Keys {
  readonly #byName: Map<string, Key> = new Map();
  #last: Key = { index: -1, bytes: new Uint8Array(0), next: undefined };
  readonly #isStrict: boolean;

  /** @param isStrict whether an object with other keys is a misfit */
  constructor(names: readonly string[], isStrict: boolean = false) {
    names.forEach((name, index) => this.#byName.set(name, { index, bytes: encoded(name), next: undefined }));
    this.#isStrict = isStrict;
  }

  /**
   * Returns the index of the key at `p`, in a map of which so many entries are `left`. Those with other keys are passed over first.
   * Leaves where the key is in `position`, in its shortest form, and in `left` how many entries there are then; without any, the
   * index is -1.
   */
  find(r: Reader, p: number, left: number, depth?: number): number {
    const { next } = this.#last;
    if (next === undefined || !isAt(r.bytes, p, next.bytes)) return this.#lookUp(r, p, left, depth);
    this.#last = next;
    r.position = p;
    r.left = left;
    return next.index;
  }

  #lookUp(r: Reader, p: number, left: number, depth: number | undefined): number {
    let at = p;
    for (let entries = left; entries > 0; entries--) {
      const key = this.#byName.get(readString(r, at));
      if (key !== undefined) {
        if (r.position !== at + key.bytes.length) misfit();
        this.#last.next = key;
        this.#last = key;
        r.position = at;
        r.left = entries;
        return key.index;
      }
      this.#passOver(r, depth);
      at = r.position;
    }
    r.left = 0;
    return -1;
  }

  /** Passes over the value of another key. */
  #passOver(r: Reader, depth: number | undefined): void {
    if (this.#isStrict) misfit();
    const allowed = allowance.values;
    skip(r, r.position, depth === undefined ? undefined : depth - 1);
    if (r.position > r.end) misfit();
    // It is not kept.
    allowance.values = allowed;
  }
}

function isAt(bytes: Uint8Array, p: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[p + i] !== key[i]) return false;
  return true;
}

/** The MessagePack of a key, in its shortest form, as generated code compares it. */
function encoded(key: string): Uint8Array {
  const utf8 = new TextEncoder().encode(key);
  const { length } = utf8;
  const header = length < 32 ? [0xa0 | length] : length < 256 ? [0xd9, length] : [0xda, length >> 8, length];
  return Uint8Array.of(...header, ...utf8);
}
