import { checkOptions, type OptionNames } from "@quicrpc/core/transport";
import { checkDrain } from "./paced-drain.js";
import type { Server, ServerDrainOptions } from "./server.js";

/** A program that was asked to end and still runs so many milliseconds after its drain gets a warning that says why that may be. */
const STILL_RUNNING_MS = 5000;
/** Ctrl-C reaches all processes of a terminal, and `npm` and `tsx` forward it to the program: signals within this many milliseconds count as one. A person takes longer to press Ctrl-C again. */
const SAME_MS = 100;
/** A drain that takes so many milliseconds is said to somebody at a terminal. */
const LONG_MS = 1000;

/** Options of `drainOnSignal`. */
export interface DrainOnSignalOptions extends ServerDrainOptions {
  /** Default: SIGTERM, as orchestrators send it, and SIGINT, as Ctrl-C does. */
  readonly signals?: readonly NodeJS.Signals[];
  /** Closed after the server, such as the connections that its handlers call others by: they would keep the process running. Default: nothing. */
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
 * Ends a server well when the process is asked to end: the first signal drains it, so that the process exits by itself
 * when the calls in progress are over; a second closes it at once. Returns what takes the signals' listeners back.
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
      await Promise.allSettled(close.map(async (each) => each.close()));
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
    "the server is drained, and something else keeps the process running: a connection of this program has to be closed too, as by drainOnSignal(server, { close: [connection] })";
  process.emitWarning(text, { code: "QUICRPC_STILL_RUNNING" });
}
