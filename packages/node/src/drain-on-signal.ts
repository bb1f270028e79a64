import type { DrainOptions } from "@quicrpc/core/transport";
import type { Server } from "./server.js";

/** Options of `drainOnSignal`. */
export interface DrainOnSignalOptions extends DrainOptions {
  /** Default: SIGTERM, as orchestrators send it, and SIGINT, as Ctrl-C does. */
  readonly signals?: readonly NodeJS.Signals[];
}

/**
 * Ends a server well when the process is asked to end: the first signal drains it, so that the process exits by itself
 * when the calls in progress are over; a second closes it at once. Returns what takes the signals' listeners back.
 */
export function drainOnSignal(server: Pick<Server, "drain" | "close">, options: DrainOnSignalOptions = {}): () => void {
  const { signals = ["SIGTERM", "SIGINT"], ...drain } = options;
  let draining = false;
  const onSignal = (): void => {
    if (draining) {
      void server.close({ closeCode: 0 });
      return;
    }
    draining = true;
    void server.drain(drain).finally(stop);
  };
  const stop = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return stop;
}
