/** Mask key of a frame: four bytes, in the order in which they are sent. */
export type MaskKey = Uint8Array;

/**
 * Minimum number of bytes for which vector instructions are used. For fewer bytes, copying to and from WebAssembly
 * memory costs more than the instructions save.
 */
const MANY_BYTES = 256;
/** Number of bytes that are masked at once: one page of WebAssembly memory. */
const PAGE_BYTES = 65_536;

/**
 * A WebAssembly module that masks the bytes of its memory below `$end`. V8 uses no vector instructions for loops over arrays: those take
 * several times as long as this does with its copies.
 *
 *     (module
 *       (memory (export "m") 1 1)
 *       (func (export "x") (param $end i32) (param $key i32) (local $keys v128) (local $at i32)
 *         (local.set $keys (i32x4.splat (local.get $key)))
 *         (loop
 *           (v128.store (local.get $at) (v128.xor (v128.load (local.get $at)) (local.get $keys)))
 *           (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))))
 */
const MODULE =
  "AGFzbQEAAAABBgFgAn9/AAMCAQAFBAEBAQEHCQIBbQIAAXgAAAotASsCAXsBfyAB/REhAgNAIAMgA/0ABAAgAv1R/QsEACADQRBqIgMgAEkNAAsL";

interface MaskVectors {
  readonly memory: Uint8Array;
  readonly mask: (end: number, key: number) => void;
}

/** The WebAssembly module's instance. Created for the first large frame. Null if this process cannot run the module. */
let vectors: MaskVectors | null | undefined;

/**
 * Compiles the WebAssembly module. Returns null without WebAssembly (`--jitless`), without vector instructions, or if
 * too little address space is left (`ulimit -v`).
 */
function makeVectors(): MaskVectors | null {
  try {
    const { m, x } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(MODULE, "base64"))).exports;
    return { memory: new Uint8Array((m as WebAssembly.Memory).buffer), mask: x as MaskVectors["mask"] };
  } catch {
    return null;
  }
}

/**
 * Masks or unmasks bytes in place.
 *
 * @param offset number of preceding bytes of the same frame, which used the same key
 */
export function applyMask(bytes: Uint8Array, key: MaskKey, offset: number): void {
  const { length } = bytes;
  const byte = (i: number): number => key[(offset + i) & 3] as number;
  if (vectors === undefined && length >= MANY_BYTES) vectors = makeVectors();
  if (vectors !== undefined && vectors !== null && length >= MANY_BYTES) {
    const { memory, mask } = vectors;
    // WebAssembly's words are little-endian.
    const keyWord = byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
    for (let at = 0; at < length; at += PAGE_BYTES) {
      const block = bytes.subarray(at, at + PAGE_BYTES);
      memory.set(block);
      mask(block.length, keyWord);
      block.set(memory.subarray(0, block.length));
    }
    return;
  }
  for (let at = 0; at < length; at++) bytes[at] = (bytes[at] as number) ^ byte(at);
}
