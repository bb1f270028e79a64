import { misfit } from "../msgpack/misfit.js";
import { allowance, type Reader, readString, skip } from "../msgpack/reader.js";
import { writeString } from "../msgpack/write.js";

interface Key {
  readonly index: number;
  /** The key as MessagePack. */
  readonly bytes: Uint8Array;
  /** The key that followed this one the last time. */
  next: Key | undefined;
}

/**
 * The keys of an object. A reader uses them if the next key is not the one it expects. A peer writes the keys of an
 * object in a constant order, so the key that follows each key is remembered: then only its bytes are compared, and no
 * string is created.
 */
export class Keys {
  readonly #byName: Map<string, Key> = new Map();
  #last: Key = { index: -1, bytes: new Uint8Array(0), next: undefined };
  readonly #isStrict: boolean;

  /** @param isStrict whether other keys are refused */
  constructor(names: readonly string[], isStrict: boolean = false) {
    names.forEach((name, index) => this.#byName.set(name, { index, bytes: encoded(name), next: undefined }));
    this.#isStrict = isStrict;
  }

  /**
   * Returns the index of the next known key of a map. Entries with other keys are skipped. Sets `position` to the
   * position of the key in its shortest form, and `left` to the number of remaining entries. If there are none, the
   * index is -1.
   *
   * @param p position of the next key
   * @param left number of remaining entries
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

  /** Skips the value of another key. */
  #passOver(r: Reader, depth: number | undefined): void {
    if (this.#isStrict) misfit();
    const allowed = allowance.values;
    skip(r, r.position, depth === undefined ? undefined : depth - 1);
    if (r.position > r.end) misfit();
    // The value is not kept, so it is not charged.
    allowance.values = allowed;
  }
}

function isAt(bytes: Uint8Array, p: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[p + i] !== key[i]) return false;
  return true;
}

/** Returns the key as MessagePack in its shortest form, which generated code compares. */
function encoded(key: string): Uint8Array {
  const bytes = new Uint8Array(key.length * 3 + 8);
  return bytes.subarray(0, writeString(bytes, 0, key));
}
