import { type Caller, type CallOptions, type Router, RpcError } from "@quicrpc/core";
import { createHealthClient, createHealthRouter, type HealthStatus } from "./generated/health.js";

/** Initial statuses for `createHealth`: statuses by service name, `""` for the server as a whole. */
export type HealthStatuses = Readonly<Record<string, HealthStatus>>;

/** Health of a server, with the router that reports it to clients. */
export interface Health {
  /** Router that reports the health. Pass it to `serve` together with the application's routers. */
  readonly router: Router;
  /**
   * Sets the status of a service, and sends it to clients that watch the service. The name `""` stands for the server
   * as a whole.
   */
  set(service: string, status: HealthStatus): void;
  /** Sets every status to `not_serving`. Call it for example before a drain. */
  shutdown(): void;
}

/** Creates the service quicrpc.v1.Health. The status of the server as a whole is `serving` by default. */
export function createHealth(statuses: HealthStatuses = {}): Health {
  const known = new Map<string, HealthStatus>([["", "serving"], ...Object.entries(statuses)]);
  const watchers = new Set<() => void>();
  const notifyWatchers = (): void => {
    for (const notify of watchers) notify();
  };

  async function* watch(service: string, signal: AbortSignal): AsyncGenerator<{ status: HealthStatus }> {
    let sent: HealthStatus | undefined;
    while (!signal.aborted) {
      const status = known.get(service) ?? "unknown";
      if (status !== sent) {
        sent = status;
        yield { status };
      } else {
        await nextChange(watchers, signal);
      }
    }
  }

  return {
    router: createHealthRouter({
      check: ({ service }) => {
        const status = known.get(service);
        if (status === undefined) throw new RpcError("not_found", `the service ${service} is unknown`);
        return { status };
      },
      watch: ({ service }, { signal }) => watch(service, signal),
    }),
    set: (service, status) => {
      known.set(service, status);
      notifyWatchers();
    },
    shutdown: () => {
      for (const service of known.keys()) known.set(service, "not_serving");
      notifyWatchers();
    },
  };
}

function nextChange(watchers: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onChange = (): void => {
      watchers.delete(onChange);
      signal.removeEventListener("abort", onChange);
      resolve();
    };
    watchers.add(onChange);
    signal.addEventListener("abort", onChange, { once: true });
  });
}

/**
 * Yields true if a peer is able to serve, otherwise false: at first, and after each change. A peer without a health
 * service counts as able to serve. Throws `RpcError` when the session ends.
 */
export async function* watchHealth(
  caller: Caller,
  service: string = "",
  options?: CallOptions,
): AsyncGenerator<boolean, void> {
  try {
    for await (const { status } of createHealthClient(caller).watch({ service }, options)) yield status === "serving";
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== "unimplemented") throw error;
    yield true;
  }
}
