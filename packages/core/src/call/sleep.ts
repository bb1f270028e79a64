import { RpcError } from "../errors.js";
import { onAbort } from "./abort.js";
import { expiries } from "./expiries.js";

/** Resolves after `delayMs`. Rejects with `RpcError` if the signal fires first. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(RpcError.from(signal?.reason, "cancelled"));
    if (signal?.aborted === true) {
      fail();
      return;
    }
    const expiry = expiries.add(delayMs, () => {
      forget?.();
      resolve();
    });
    const forget =
      signal &&
      onAbort(signal, () => {
        expiries.remove(expiry);
        fail();
      });
  });
}
