import type { AdvancedSessionOptions } from "@quicrpc/core/internal";
import type { Limits, Router, ServerLoad, SessionOptions } from "@quicrpc/core";
import { saidRouter } from "./said-service.js";
import { behaviourRouter, type Witness } from "./service.js";
import { onceRouter } from "./once-service.js";
import { thrownRouter } from "./thrown-service.js";
import { typedRouter } from "./typed-service.js";

/** Returns options of a session that serves the test service and reports to `witness`. */
export function sessionOptions(
  witness: Witness,
  limits: Partial<Limits>,
  own: SessionOptions = {},
): SessionOptions & { routers: readonly Router[] } {
  const onError = (error: unknown, { method }: { method: string }): void => {
    witness.errors.push({ error, method });
    witness.saw(`error ${method}`);
  };
  const said = saidRouter((event) => witness.saw(event));
  const routers = [behaviourRouter(witness), said, typedRouter(), onceRouter(), thrownRouter(), ...(own.routers ?? [])];
  return { onError, limits, ...own, routers };
}

/** Options of a session as `serve` and `dial` take them, which name the peers of their sessions themselves. */
export function servedOptions(options: SessionOptions): Pick<SessionOptions, "limits" | "onError"> & {
  routers: readonly Router[];
  advanced: AdvancedSessionOptions;
} {
  const { routers = [], limits, onError, peer: _, ...advanced } = options;
  return { routers, advanced, ...(limits && { limits }), ...(onError && { onError }) };
}

/** Running handlers of a server, and estimated bytes that its peers make it hold. */
export interface Load {
  readonly handlers: number;
  readonly heldBytes: number;
}

/** Measures what the sessions that share `load` hold. */
export function measured(load: ServerLoad): Load {
  load.measure();
  return { handlers: load.handlers, heldBytes: load.held };
}
