import { guarded } from "../guarded.js";
import type { ErrorHook } from "./dispatch.js";
import { logError } from "./log-error.js";

/**
 * `given`, or what logs. Where `given` throws, that is logged, and the failure that it was to receive.
 *
 * @param peer the name of the peer whose calls fail, for the hook
 */
export function errorHook(given: ErrorHook | undefined, peer?: string): ErrorHook {
  const hook = given === undefined ? logError : loggedWhereItThrows(given);
  return peer === undefined ? hook : (error, site) => hook(error, { peer, ...site });
}

function loggedWhereItThrows(given: ErrorHook): ErrorHook {
  return (error, site) =>
    guarded(given, (thrown) => {
      logError(error, site);
      logError(thrown, { method: "onError" });
    })(error, site);
}
