import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

/** Bytes that are reachable. */
export function heap(): number {
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many of these objects are reachable. Those that were touched in this turn count as such: call it in another. */
export function reachable(refs: readonly WeakRef<object>[]): number {
  gc();
  gc();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

/** Bytes that collections of young objects leave of what `run` made and holds no longer. */
export async function leftByMinorCollections(run: () => Promise<void>): Promise<number> {
  const before = heap();
  const { external } = process.memoryUsage();
  await run();
  for (let times = 0; times < 2; times++) gc({ type: "minor" });
  return process.memoryUsage().heapUsed + external - before;
}
