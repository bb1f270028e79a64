import { checkOptions, type OptionNames } from "../check-options.js";
import { SESSION_OPTIONS } from "./option-names.js";
import { interceptRouter } from "../interceptors/intercept-router.js";
import type { Interceptor } from "../interceptors/interceptor.js";
import { combineRouters, type Router } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import type { SessionOptions } from "../session/options.js";
import type { Session } from "../session/session.js";
import { createMemoryPair } from "../transport/memory.js";

/** Options of `createLocalCaller`: the options of the serving side. */
interface LocalCallerOptions<Context = unknown>
  extends Omit<SessionOptions<Context>, "routers" | "peer" | "credentials" | "metadata"> {
  /** Around each call served, as of `serve`; the first is the outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[];
}

const { routers: _, peer: _peer, credentials: _credentials, metadata: _metadata, ...ofSession } = SESSION_OPTIONS;
const OPTIONS: OptionNames<LocalCallerOptions> = { ...ofSession, interceptors: true };

/**
 * Calls routers in the same process, such as to render pages on the server, or in tests. Everything but the network is as for
 * other calls: messages are encoded and validated, interceptors run, and errors follow the same rules. The option `connection`
 * is what handlers find in their context, in place of what `authenticate` returns. The caller need not be closed.
 *
 * @example
 * const notes = createNotesClient(createLocalCaller([createNotesRouter(handlers)], { connection: user }));
 */
export function createLocalCaller<Context = unknown>(
  routers: readonly Router<Context>[],
  given: LocalCallerOptions<Context> = {},
): Session {
  checkOptions("createLocalCaller()", given, OPTIONS);
  const { interceptors = [], ...options } = given;
  const [near, far] = createMemoryPair();
  createSession(far, { ...options, routers: [interceptRouter(combineRouters(routers), interceptors)] });
  const { limits, codec } = options;
  return createSession(near, {
    peer: "this process",
    ...(limits !== undefined && { limits }),
    ...(codec !== undefined && { codec }),
  });
}
