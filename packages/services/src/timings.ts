import { checkOptions } from "@quicrpc/core/internal";
import { type Router, RpcError } from "@quicrpc/core";
import { createTimingsRouter } from "./generated/timings.js";
import { type ServedTimings, timedRouter } from "./timed-router.js";

/** Options of `createTimings`. */
export interface TimingsOptions {
  /** Number of calls whose durations are stored: the latest ones. Default 1000. */
  readonly keep?: number;
}

/** Stores the durations of a server's calls, for callers that give their calls a name. */
export interface Timings {
  /**
   * Router that reports the durations. Pass it to `serve` together with the application's routers, but only if callers
   * are authenticated.
   */
  readonly router: Router;
  /** Returns a router that stores the durations of its calls. */
  measure<Context>(router: Router<Context>): Router<Context>;
}

/** Maximum length in characters of a call's name. The durations of calls with longer names are not stored. */
const MAX_NAME = 64;

/**
 * Creates the service quicrpc.v1.Timings, which reports the durations of calls that carry the metadata `call-name`.
 * Anyone who knows the name of a call can read its durations, so callers must choose names that cannot be guessed.
 * Calls without a name are not stored.
 */
export function createTimings(options: TimingsOptions = {}): Timings {
  checkOptions("createTimings()", options, { keep: true });
  const { keep = 1000 } = options;
  const known = new Map<string, ServedTimings>();
  return {
    router: createTimingsRouter({
      of: ({ name }) => {
        const timings = known.get(name);
        if (timings === undefined)
          throw new RpcError(
            "not_found",
            "there are no timings for a call of this name: it was not measured, or its timings were dropped",
          );
        const { decodeMs, queueMs, handlerMs } = timings;
        return { handlerMs, ...(decodeMs !== undefined && { decodeMs }), ...(queueMs !== undefined && { queueMs }) };
      },
    }),
    measure: (router) =>
      timedRouter(router, (timings, { metadata }) => {
        const name = metadata.get("call-name");
        if (typeof name !== "string" || name.length > MAX_NAME) return;
        if (known.size >= keep) known.delete(known.keys().next().value as string);
        known.set(name, timings);
      }),
  };
}
