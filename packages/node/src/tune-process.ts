import { watchCopies } from "@quicrpc/core/internal";
import { returnFreedMemory } from "@quicrpc/quic";

/**
 * Bytes of payloads after which young objects are collected. With fewer, payloads that an application still holds become old before it has
 * used them; with more, V8 has begun to look through the whole heap.
 */
const BYTES = 8 * 1024 * 1024;
/** Collections take at most one part in this many of the elapsed time. */
const SHARE = 10;

/** Bytes of the block that is allocated and freed once; its pages are never touched. */
const BLOCK_BYTES = 16 * 1024 * 1024;

let isTuned = false;

/**
 * Tunes V8 and malloc for large messages, in the whole process. Call it once, at the start of your own program. After
 * every 8 MiB of payloads that this thread receives, V8 collects its young generation (with its function `gc`, for
 * which the flag `--expose-gc` is set for a moment), and glibc keeps up to 32 MiB of freed memory for the next
 * payloads. After QUIC sessions have ended, the engine returns free memory to the system. Without this function, V8
 * searches the whole heap for the garbage of large messages, which costs most from Node 24 on and with a large heap. It
 * has no effect on Bun and Deno, and when called again.
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

/** Times of collections of young objects. */
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

  /** Plans a collection, unless one is planned or the last two took much of the time. */
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
    // A single long one has found objects that are old from then on.
    this.notBefore = endedAt + Math.min(took, this.lastTook) * (SHARE - 1);
    this.lastTook = took;
  }
}

/** Returns V8's function for minor collections, or a no-op if it is not available. */
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
 * Allocates and frees a large block. Until glibc has seen that, it returns the memory of payloads to the kernel, which
 * has to provide new pages for the next ones. Afterwards it keeps up to twice the size of the block (mallopt(3): its
 * thresholds are dynamic).
 */
function dropBlock(): void {
  try {
    const buffer: ArrayBuffer & { transfer?(length: number): ArrayBuffer } = Buffer.allocUnsafeSlow(BLOCK_BYTES).buffer;
    // Frees it at once. On Node 20, which lacks it, the collection that follows does.
    buffer.transfer?.(0);
  } catch {
    // The block could not be allocated.
  }
}

/**
 * Returns the function `gc` of a context that is created while `--expose-gc` is set. The current context's own `gc` is
 * not used, because the program may have replaced it. If the current context has one, the program has set the flag, and
 * it stays set.
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
