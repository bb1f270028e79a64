import { type Backoff, backoffDelay, DEFAULT_BACKOFF } from "../backoff.js";
import type { RpcError } from "../errors.js";
import { expiries } from "./expiries.js";
import type { CallOptions } from "./options.js";
import { watch } from "./watch.js";

/** An attempt costs a request or an entry of a queue: calls are soon back after a server that was away for long. */
const BACKOFF: Backoff = { ...DEFAULT_BACKOFF, maxMs: 5000 };

/** The end of a call whose next attempt is awaited: by the call's own time or signals. */
interface GivingUp {
  readonly options: CallOptions;
  readonly timeoutMs?: number | undefined;
  readonly giveUp: (error: RpcError) => void;
}

/**
 * Calls `attempt` after the backoff for this many failures in a row, unless `end.giveUp` is called first, by the call's timeout or signal. Calls at
 * most one of the two, and neither after the returned function was called.
 */
export function scheduleAttempt(failures: number, attempt: () => void, end?: GivingUp): () => void {
  const expiry = expiries.add(backoffDelay(failures, BACKOFF), () => {
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
