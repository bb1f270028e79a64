import { misfit } from "../msgpack/misfit.js";
import { type Reader, readString, skip } from "../msgpack/reader.js";
import { writeString } from "../msgpack/write.js";

interface Key {
  readonly index: number;
  /** The key encoded as MessagePack. */
  readonly bytes: Uint8Array;
  /** The key that followed this one in the last object read. */
  next: Key | undefined;
}

/**
 * The declared keys of an object. A generated reader looks a key up here if it is not the one it expects. A peer writes
 * the keys of an object in a constant order, so each key remembers its successor: usually only bytes are compared, and
 * no string is created.
 */
export class Keys {
  readonly #byName: Map<string, Key> = new Map();
  #last: Key = { index: -1, bytes: new Uint8Array(0), next: undefined };
  readonly #isStrict: boolean;

  /** @param isStrict true if undeclared keys are refused */
  constructor(names: readonly string[], isStrict: boolean = false) {
    names.forEach((name, index) => this.#byName.set(name, { index, bytes: encoded(name), next: undefined }));
    this.#isStrict = isStrict;
  }

  /**
   * Returns the index of the next declared key of a map, or -1 if there is none. Skips entries with undeclared keys.
   * Sets `position` to the position of the key in its shortest form, and `left` to the number of remaining entries.
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

  #passOver(r: Reader, depth: number | undefined): void {
    if (this.#isStrict) misfit();
    skip(r, r.position, depth === undefined ? undefined : depth - 1);
  }
}

function isAt(bytes: Uint8Array, p: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[p + i] !== key[i]) return false;
  return true;
}

/** Returns the key in its shortest MessagePack form, which generated code compares with the received bytes. */
function encoded(key: string): Uint8Array {
  const bytes = new Uint8Array(key.length * 3 + 8);
  return bytes.subarray(0, writeString(bytes, 0, key));
}
