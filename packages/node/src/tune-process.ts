import { watchCopies } from "@quicrpc/core/internal";
import { returnFreedMemory } from "@quicrpc/quic";

/**
 * Number of bytes of received payloads after which V8's young generation is collected. With a lower number, payloads
 * that the application still uses would be moved to the old generation. With a higher number, V8 begins to search the
 * whole heap before that.
 */
const BYTES = 8 * 1024 * 1024;
/** Divisor of the elapsed time: collections may take at most a tenth of it. */
const SHARE = 10;

/** Size in bytes of a memory block that is allocated and freed once. Its pages are never written. */
const BLOCK_BYTES = 16 * 1024 * 1024;

let isTuned = false;

/**
 * Tunes V8 and malloc for large messages, in the whole process. Call this function once at the start of an application.
 * After every 8 MiB of payloads that this thread receives, V8 collects its young generation. (This uses V8's function
 * `gc`; the flag `--expose-gc` is set for a moment to obtain it.) glibc keeps up to 32 MiB of freed memory for the next
 * payloads. After QUIC sessions have ended, the native engine returns free memory to the system. Without this function,
 * V8 searches the whole heap for the garbage of large messages, which costs most from Node 24 on and with a large heap.
 * Further calls, and calls in Bun and Deno, have no effect.
 */
export function tuneProcess(): void {
  if (isTuned) return;
  isTuned = true;
  if ("bun" in process.versions || "deno" in process.versions) return;
  returnFreedMemory();
  let collections: MinorCollections | undefined;
  let remaining = BYTES;
  watchCopies((bytes) => {
    if ((remaining -= bytes) > 0) return;
    remaining = BYTES;
    collections ??= new MinorCollections(minorCollection(), () => performance.now(), setImmediate);
    collections.plan();
  });
}

/** Decides when to collect V8's young generation. */
export class MinorCollections {
  private readonly collect: () => void;
  private readonly now: () => number;
  private readonly schedule: (run: () => void) => void;
  private planned = false;
  private notBefore = 0;
  private lastTook = 0;

  /** @param schedule runs a function after the receivers of payloads have run: a collection before that would copy what they still use into the old generation */
  constructor(collect: () => void, now: () => number, later: (run: () => void) => void) {
    this.collect = collect;
    this.now = now;
    this.schedule = later;
  }

  /**
   * Plans a collection. Does nothing if one is already planned, or if the last two collections took too much of the
   * elapsed time.
   */
  plan(): void {
    if (this.planned || this.now() < this.notBefore) return;
    this.planned = true;
    this.schedule(() => this.run());
  }

  private run(): void {
    this.planned = false;
    const began = this.now();
    this.collect();
    const endedAt = this.now();
    const took = endedAt - began;
    // A single long collection has moved objects to the old generation, so the next one is likely to be short.
    this.notBefore = endedAt + Math.min(took, this.lastTook) * (SHARE - 1);
    this.lastTook = took;
  }
}

/** Returns V8's function for collections of the young generation, or a no-op if V8 does not provide one. */
function minorCollection(): () => void {
  const gc = v8Collection();
  if (typeof gc !== "function") return () => {};
  let isFirst = true;
  return () => {
    if (isFirst && process.platform === "linux") dropBlock();
    isFirst = false;
    gc({ type: "minor" });
  };
}

/**
 * Allocates and frees a large block of memory, so that glibc keeps freed memory of up to twice this size for reuse
 * (mallopt(3), dynamic thresholds). Otherwise glibc returns the memory of each payload to the kernel, which then has to
 * provide new pages for the next payload.
 */
function dropBlock(): void {
  try {
    const buffer: ArrayBuffer & { transfer?(length: number): ArrayBuffer } = Buffer.allocUnsafeSlow(BLOCK_BYTES).buffer;
    // Frees the block at once. Node 20 lacks this method; there, the collection that follows frees the block.
    buffer.transfer?.(0);
  } catch {
    // The block could not be allocated.
  }
}

/**
 * Returns V8's function `gc` from a new context that is created while the flag `--expose-gc` is set. The program may
 * have replaced the `gc` of the current context, so that function is not used. If the current context has a `gc`, the
 * program has set the flag itself, and the flag stays set.
 */
function v8Collection(): unknown {
  try {
    const gcOfNewContext = (): unknown => process.getBuiltinModule("node:vm").runInNewContext("globalThis.gc");
    const existing = "gc" in globalThis ? gcOfNewContext() : undefined;
    if (existing !== undefined) return existing;
    const v8 = process.getBuiltinModule("node:v8");
    v8.setFlagsFromString("--expose-gc");
    try {
      return gcOfNewContext();
    } finally {
      v8.setFlagsFromString("--no-expose-gc");
    }
  } catch {
    return undefined;
  }
}
