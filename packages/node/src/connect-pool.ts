import type { Session } from "@quicrpc/core";
import { checkOptions, flatOptions, type OptionNames } from "@quicrpc/core/internal";
import {
  createPool,
  type Pool,
  POOL_OPTIONS,
  type PoolOptions,
  type ResolveTargets,
  type TargetSpec,
} from "@quicrpc/pool";
import { DIAL_OPTIONS, type DialOptions, dialSession, rejectedAtCaller } from "./dial.js";
import type { DnsTargets } from "./dns-targets.js";
import { firstSession } from "./first-session.js";
import { isPermanent } from "./permanent.js";
import { trackHandle } from "./active-handles.js";
import { providerFor, transportUrl } from "./urls.js";

/**
 * Options of `connectPool`. `timeoutMs` applies to each attempt, and to all attempts until the first target is ready.
 */
export interface ConnectPoolOptions<Context = unknown>
  extends DialOptions<Context>,
    Omit<PoolOptions, "limits" | "isPermanent"> {}

const OPTIONS: OptionNames<ConnectPoolOptions> = { ...POOL_OPTIONS, ...DIAL_OPTIONS };

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Connects to several targets and distributes calls among them. Targets are URLs as for `dial`, `dnsTargets(…)`, or a
 * function that finds URLs. Resolves when the first target is ready, and rejects like `connect`. The routers serve on
 * each session.
 */
export async function connectPool<Context = unknown>(
  targets: readonly (string | TargetSpec)[] | ResolveTargets | DnsTargets,
  options: ConnectPoolOptions<Context> = {},
): Promise<Pool> {
  const note = trackHandle("pool");
  checkOptions("connectPool()", options, OPTIONS);
  const { balance, sessionsPerTarget, subset, outliers, health, refreshMs, backoff, signal, ...connectOptions } =
    flatOptions(options);
  const { timeoutMs = DEFAULT_TIMEOUT_MS, limits } = connectOptions;
  const isDns = "serverName" in targets;
  const dialOptions = { ...connectOptions, timeoutMs };
  const named = isDns ? { serverName: targets.serverName, ...dialOptions } : dialOptions;
  const hasTls = (target: string): boolean =>
    providerFor(transportUrl(target, "dial", connectOptions.transports).protocol, "dial", connectOptions.transports)
      .capabilities.tls === true;
  const pool = createPool(
    isDns ? targets.resolve : targets,
    async (target, dialSignal) =>
      dialSession(target, { ...(hasTls(target) ? named : dialOptions), signal: dialSignal }),
    {
      isPermanent,
      ...(balance !== undefined && { balance }),
      ...(sessionsPerTarget !== undefined && { sessionsPerTarget }),
      ...(subset !== undefined && { subset }),
      ...(outliers !== undefined && { outliers }),
      ...(health !== undefined && { health }),
      ...(refreshMs !== undefined && { refreshMs }),
      ...(backoff !== undefined && { backoff }),
      ...(limits !== undefined && { limits }),
    },
  );
  const peers = (): string => pool.targets.map(({ target }) => target).join(", ");
  try {
    const ready = async (readyOptions: Parameters<Pool["ready"]>[0]): Promise<Session | undefined> => {
      await pool.ready(readyOptions);
      return pool.targets.flatMap(({ sessions }) => sessions).find((session) => session.takesCalls);
    };
    await firstSession(ready, peers, { ...dialOptions, ...(signal && { signal }) }, timeoutMs);
  } catch (error) {
    await pool.close();
    return rejectedAtCaller(error, signal);
  }
  void pool.closed.finally(note(peers()));
  return pool;
}
