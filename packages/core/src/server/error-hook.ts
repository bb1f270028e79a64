import { guarded } from "../guarded.js";
import type { ErrorHook } from "./dispatch.js";
import { logError } from "./log-error.js";

/** `given`, or what logs. Where `given` throws, that is logged, and the failure that it was to receive. */
export function errorHook(given: ErrorHook | undefined): ErrorHook {
  if (given === undefined) return logError;
  return (error, site) =>
    guarded(given, (thrown) => {
      logError(error, site);
      logError(thrown, { method: "onError" });
    })(error, site);
}
