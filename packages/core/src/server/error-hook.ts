import { guarded } from "../guarded.js";
import type { ErrorHook } from "./dispatch.js";
import { logError } from "./log-error.js";

/** Most nested causes that are examined. */
const MAX_CAUSES = 8;

/**
 * Returns a hook that receives failures: `given`, or a log. The errors that it receives can always be read. If `given`
 * throws, that error and the original failure are logged.
 *
 * @param peer name of the peer whose calls fail
 */
export function errorHook(given: ErrorHook | undefined, peer?: string): ErrorHook {
  const hook = given === undefined ? logError : loggedWhereItThrows(given);
  return (error, site) => hook(readable(error), peer === undefined ? site : { peer, ...site });
}

/** Returns the thrown value, or a substitute error if the fields of the value or of its causes cannot be read. */
function readable(thrown: unknown): unknown {
  try {
    let error = thrown;
    for (let depth = 0; error instanceof Error && depth < MAX_CAUSES; depth++) {
      const { name, message, stack, code, cause } = error as Error & { readonly code?: unknown };
      [name, message, stack, code].map(String);
      error = cause;
    }
    String(error);
    return thrown;
  } catch {
    return new TypeError("an error was thrown whose fields cannot be read");
  }
}

function loggedWhereItThrows(given: ErrorHook): ErrorHook {
  return (error, site) =>
    guarded(given, (thrown) => {
      logError(error, site);
      logError(thrown, { method: "onError" });
    })(error, site);
}
