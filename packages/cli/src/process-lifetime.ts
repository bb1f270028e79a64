import { once } from "node:events";
import { setFlagsFromString } from "node:v8";

/** Maximum delay of a timer in milliseconds. */
const MOST_MS = 2 ** 31 - 1;

export async function terminated(): Promise<void> {
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
}

export async function keepAlive(promise: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, MOST_MS);
  try {
    await promise;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Number of bytes of bytecode that V8 executes before it considers optimizing a function: several times the default.
 */
const INTERRUPT_BUDGET = 1_000_000;

/** Last major version of V8 that has this setting (Node 20). Later versions report an error, and would gain nothing. */
const LAST_V8 = 11;

/**
 * Ends the process with `code` after its output has been written. This is needed because a schema module may have left
 * timers or connections open.
 */
export async function endRun(code: number): Promise<never> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write("", resolve))),
  );
  process.exit(code);
}

/** Makes V8 optimize functions later. A command that ends within seconds would compile them without a benefit. */
export function optimizeLater(): void {
  if (Number.parseInt(process.versions.v8, 10) > LAST_V8) return;
  setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
