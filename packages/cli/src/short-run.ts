import { setFlagsFromString } from "node:v8";

/** Bytes of bytecode that a function runs through before V8 thinks of optimizing it: several times its default. */
const INTERRUPT_BUDGET = 1_000_000;

/** The last V8 that has such a setting, that of Node 20: later ones print an error of it, and gain nothing by what replaced it. */
const LAST_V8 = 11;

/** Ends the process with `code` once its output is written: a schema module may have left timers or connections open. */
export async function endRun(code: number): Promise<never> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write("", resolve))),
  );
  process.exit(code);
}

/** Has V8 optimize later: a command that ends within seconds pays for compiled code and is over before it is faster. */
export function optimizeLater(): void {
  if (Number.parseInt(process.versions.v8, 10) > LAST_V8) return;
  setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
