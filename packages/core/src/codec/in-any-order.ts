import { misfit } from "../msgpack/misfit.js";
import { allowance, Reader, readMapHeader, readString, skip } from "../msgpack/reader.js";
import { writeMapHeader, writeString } from "../msgpack/write.js";

/** Bytes after a copy that readers may look at: they compare keys four bytes at a time. */
const LOOK_AHEAD = 8;
/** The most bytes that the header of a map has here. */
const HEADER = 3;
/** The largest buffer that is kept for the next copy. */
const MAX_KEPT = 64 * 1024;

/** Readers of copies that are not in use, each with its buffer. */
const spare: Reader[] = [];

/**
 * A reader of objects whose keys do not come as `read` expects them: in another order, or among others. It copies the keys
 * that it knows into the order of `keys`, and `read` reads the copy.
 *
 * @param strict whether an object with other keys is a misfit
 */
export function inAnyOrder<T>(
  read: (r: Reader, p: number, depth?: number) => T,
  keys: readonly string[],
  strict = false,
): (r: Reader, p: number, depth?: number) => T {
  const known: Known = { indices: new Map(keys.map((key, index) => [key, index])), names: keys.map(encoded) };
  const found = new Int32Array(keys.length * 2);
  return (r, p, depth) => {
    // A copy is in order already: what is not found there is missing.
    if (r.copied === p) return misfit();
    find(r, p, known, found, strict, depth);
    const end = r.position;
    // Inside one another, n such objects would be read 2^n times.
    const patience = r.patience - (end - p);
    if (patience < 0) return misfit();
    const copy = spare.pop() ?? new Reader();
    copyInOrder(r, copy, known, found);
    copy.patience = patience;
    const result = read(copy, 0, depth);
    if (copy.position !== copy.end) misfit();
    r.position = end;
    r.patience = copy.patience;
    if (copy.bytes.length <= MAX_KEPT) spare.push(copy);
    return result;
  };
}

/** The keys of an object: the index of each, and its MessagePack. */
interface Known {
  readonly indices: ReadonlyMap<string, number>;
  readonly names: readonly Uint8Array[];
}

/** Leaves in `found` where the value of each key begins and ends in the map at `p`: two numbers for each, the same where it has none. */
function find(r: Reader, p: number, { indices }: Known, found: Int32Array, strict: boolean, depth?: number): void {
  const levels = depth === undefined ? undefined : depth - 1;
  const allowed = allowance.values;
  found.fill(0);
  for (let left = readMapHeader(r, p); left > 0; left--) {
    const index = indices.get(readString(r, r.position));
    const start = r.position;
    skip(r, start, levels);
    if (index !== undefined) {
      found[index * 2] = start;
      found[index * 2 + 1] = r.position;
    } else if (strict) misfit();
  }
  if (r.position > r.end) misfit();
  // Whoever reads the copy counts them.
  allowance.values = allowed;
}

/** Sets `copy` to read a map of the values at `found`, each behind its name. */
function copyInOrder(r: Reader, copy: Reader, { names }: Known, found: Int32Array): void {
  let room = HEADER + LOOK_AHEAD;
  let count = 0;
  for (let i = 0; i < names.length; i++) {
    const length = (found[i * 2 + 1] as number) - (found[i * 2] as number);
    if (length > 0) {
      count++;
      room += (names[i] as Uint8Array).length + length;
    }
  }
  const bytes = copy.bytes.length >= room ? copy.bytes : new Uint8Array(room * 2);
  let end = writeMapHeader(bytes, 0, count);
  for (let i = 0; i < names.length; i++) {
    const start = found[i * 2] as number;
    const stop = found[i * 2 + 1] as number;
    if (stop > start) {
      const name = names[i] as Uint8Array;
      end = append(bytes, append(bytes, end, name, 0, name.length), r.bytes, start, stop);
    }
  }
  copy.begin(bytes, 0, end);
  copy.copied = 0;
}

/** Copies `from[start, stop)` to `p`, and returns the position after it. */
function append(to: Uint8Array, p: number, from: Uint8Array, start: number, stop: number): number {
  // Calling the platform costs more than a few bytes.
  if (stop - start > 48) to.set(from.subarray(start, stop), p);
  else for (let i = start; i < stop; i++) to[p + i - start] = from[i] as number;
  return p + stop - start;
}

/** The MessagePack of a key. */
function encoded(key: string): Uint8Array {
  const bytes = new Uint8Array(key.length * 3 + 5);
  return bytes.subarray(0, writeString(bytes, 0, key));
}
