import { backoffDelay, DEFAULT_BACKOFF } from "../backoff.js";
import type { RpcError } from "../errors.js";
import { expiries } from "./expiries.js";
import type { CallOptions } from "./options.js";
import { watch } from "./watch.js";

/** The end of a call whose next attempt is awaited: by the call's own time or signals. */
interface GivingUp {
  readonly options: CallOptions;
  readonly timeoutMs?: number | undefined;
  readonly giveUp: (error: RpcError) => void;
}

/**
 * Calls `attempt` after the pause that so many failures in a row ask for, unless `giveUp` is called first. At most one of them is called, and neither
 * after the returned function.
 */
export function scheduleAttempt(failures: number, attempt: () => void, end?: GivingUp): () => void {
  const expiry = expiries.add(backoffDelay(failures, DEFAULT_BACKOFF), () => {
    unwatch?.();
    attempt();
  });
  const unwatch =
    end &&
    watch(
      end.options,
      end.timeoutMs,
      {
        giveUp(error) {
          expiries.remove(expiry);
          end.giveUp(error);
        },
      },
      expiries,
    );
  return () => {
    expiries.remove(expiry);
    unwatch?.();
  };
}
