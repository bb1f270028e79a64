import { checkOptions } from "@quicrpc/core/internal";
import { type Router, RpcError } from "@quicrpc/core";
import { createTimingsRouter } from "./generated/timings.js";
import { type ServedTimings, timedRouter } from "./timed-router.js";

/** Options of `createTimings`. */
export interface TimingsOptions {
  /** Number of calls that are remembered, the latest ones. Default 1000. */
  readonly keep?: number;
}

/** Durations of a server's calls, for the callers that name them. */
export interface Timings {
  /** Router to pass to `serve` together with the others. Use it only if callers are authenticated. */
  readonly router: Router;
  /** Returns a router whose calls are measured. */
  measure<Context>(router: Router<Context>): Router<Context>;
}

/** Maximum length of a call's name in characters; a call with a longer one is not remembered. */
const MAX_NAME = 64;

/**
 * Creates the service quicrpc.v1.Timings: how the server spent the time of calls that carry the metadata `call-name`.
 * Anyone who knows the name can read them, so callers must choose unguessable names. Calls without a name are not
 * remembered.
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
