import { once } from "node:events";
import { setFlagsFromString } from "node:v8";

/** Maximum delay of a timer in milliseconds. */
const MOST_MS = 2 ** 31 - 1;

/** Resolves when the process receives a termination signal. */
export async function terminated(): Promise<void> {
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
}

/** Keeps the process alive until a promise has settled. */
export async function keepAlive(promise: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, MOST_MS);
  try {
    await promise;
  } finally {
    clearInterval(timer);
  }
}

/** V8's budget in bytes of bytecode before it considers optimizing a function: several times the default. */
const INTERRUPT_BUDGET = 1_000_000;

/**
 * Last version of V8 with this setting (Node 20). Later ones report an error, and gain nothing from its replacement.
 */
const LAST_V8 = 11;

/** Ends the process with `code` once its output is written: a schema module may have left timers or connections open. */
export async function endRun(code: number): Promise<never> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write("", resolve))),
  );
  process.exit(code);
}

/** Makes V8 optimize later: a command that ends within seconds pays for compiled code without a benefit. */
export function optimizeLater(): void {
  if (Number.parseInt(process.versions.v8, 10) > LAST_V8) return;
  setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
