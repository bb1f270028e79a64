import { checkOptions, type OptionNames } from "../check-options.js";
import { SESSION_OPTIONS } from "./option-names.js";
import { interceptRouter } from "../interceptors/intercept-router.js";
import type { Interceptor } from "../interceptors/interceptor.js";
import { combineRouters, type Router } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import type { SessionOptions } from "../session/options.js";
import type { Session } from "../session/session.js";
import { createMemoryPair } from "../transport/memory.js";

interface LocalCallerOptions<Context = unknown>
  extends Omit<SessionOptions<Context>, "routers" | "peer" | "credentials" | "metadata"> {
  /** Interceptors of the served calls, as in `serve`; the first is the outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[];
}

const { routers: _, peer: _peer, credentials: _credentials, metadata: _metadata, ...ofSession } = SESSION_OPTIONS;
const OPTIONS: OptionNames<LocalCallerOptions> = { ...ofSession, interceptors: true };

/**
 * Returns a caller for routers in the same process, for example to render pages on the server, or in tests. Messages
 * are encoded and validated, interceptors run, and errors are converted as over a network. The option `connection` is
 * the handlers' `context.connection`; `authenticate` is not called. The caller does not have to be closed. Throws
 * `TypeError` for an unknown option.
 *
 * @example
 * const notes = createNotesClient(createLocalCaller([createNotesRouter(handlers)], { connection: user }));
 */
export function createLocalCaller<Context = unknown>(
  routers: readonly Router<Context>[],
  callerOptions: LocalCallerOptions<Context> = {},
): Session {
  checkOptions("createLocalCaller()", callerOptions, OPTIONS);
  const { interceptors = [], ...options } = callerOptions;
  const [callerSide, routerSide] = createMemoryPair();
  createSession(routerSide, { ...options, routers: [interceptRouter(combineRouters(routers), interceptors)] });
  const { limits, codec } = options;
  return createSession(callerSide, {
    peer: "this process",
    ...(limits !== undefined && { limits }),
    ...(codec !== undefined && { codec }),
  });
}
