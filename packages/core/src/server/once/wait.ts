import { onAbort } from "../../call/abort.js";
import { expiries } from "../../call/expiries.js";
import { RpcError } from "../../errors.js";

/** Settles as `promise` does, or rejects when the signal fires first. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let forget: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const fail = (): void => reject(RpcError.from(signal.reason, "cancelled"));
    if (signal.aborted) fail();
    else forget = onAbort(signal, fail);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    forget?.();
  }
}

/** Settles as `promise` does, or rejects after `timeoutMs`. */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let expiry: ReturnType<typeof expiries.add> | undefined;
  const late = new Promise<never>((_, reject) => {
    expiry = expiries.add(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    if (expiry !== undefined) expiries.remove(expiry);
  }
}
