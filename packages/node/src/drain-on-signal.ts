import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { checkDrain } from "./paced-drain.js";
import type { Server, ServerDrainOptions } from "./server.js";

/**
 * Milliseconds after a completed drain at which a process that has not exited prints a warning with possible reasons.
 */
const STILL_RUNNING_MS = 5000;
/**
 * Signals within this many milliseconds count as one, because Ctrl-C reaches all processes of a terminal, and `npm` and
 * `tsx` forward it to the program as well. A person takes longer to press Ctrl-C twice.
 */
const SAME_MS = 100;
/** Milliseconds of draining after which a message about the drain is printed on a terminal. */
const LONG_MS = 1000;

/** Options of `drainOnSignal`. */
export interface DrainOnSignalOptions extends ServerDrainOptions {
  /** Signals that start the drain. Default: SIGTERM, which orchestrators send, and SIGINT (Ctrl-C). */
  readonly signals?: readonly NodeJS.Signals[];
  /**
   * Objects to close after the server, such as connections that the handlers use. If they stay open, they keep the
   * process running. Default: none.
   */
  readonly close?: readonly { close(): unknown }[];
}

const OPTIONS: OptionNames<DrainOnSignalOptions> = {
  signals: true,
  close: true,
  timeoutMs: true,
  spreadMs: true,
  to: true,
};

/**
 * Shuts a server down when the process receives a signal. The first signal drains the server: the process exits once
 * the calls in progress have ended. A second signal closes the server at once. Returns a function that removes the
 * signal listeners.
 */
export function drainOnSignal(
  server: Pick<Server, "drain" | "close" | "stats">,
  options: DrainOnSignalOptions = {},
): () => void {
  checkOptions("drainOnSignal()", options, OPTIONS);
  const { signals = ["SIGTERM", "SIGINT"], close = [], ...drain } = options;
  checkDrain(drain);
  let drainingSince: number | undefined;
  const end = async (isTyped: boolean): Promise<void> => {
    const long = isTyped && process.stderr.isTTY ? setTimeout(() => sayWaiting(server), LONG_MS) : undefined;
    try {
      await server.drain(drain);
    } finally {
      stop();
      clearTimeout(long);
      await Promise.allSettled(close.map(async (server) => server.close()));
      // Fires only where something else holds the process.
      setTimeout(warnOfRunning, STILL_RUNNING_MS).unref();
    }
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (drainingSince !== undefined) {
      if (now - drainingSince >= SAME_MS) void server.close({ closeCode: 0 });
      return;
    }
    drainingSince = now;
    void end(signal === "SIGINT");
  };
  const stop = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return stop;
}

function sayWaiting(server: Pick<Server, "stats">): void {
  const { handlers } = server.stats();
  process.stderr.write(
    `draining: ${handlers} call${handlers === 1 ? "" : "s"} in progress; Ctrl-C again ends at once\n`,
  );
}

function warnOfRunning(): void {
  const text =
    "the server is drained, but something else keeps the process running: close this program's connections too, for example with drainOnSignal(server, { close: [connection] })";
  process.emitWarning(text, { code: "QUICRPC_STILL_RUNNING" });
}
