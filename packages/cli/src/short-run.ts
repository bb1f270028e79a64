import { setFlagsFromString } from "node:v8";

/** Bytes of bytecode that a function runs through before V8 thinks of optimizing it: several times its default. */
const INTERRUPT_BUDGET = 1_000_000;

/** Has V8 optimize later: a command that ends within seconds pays for compiled code and is over before it is faster. */
export function optimizeLater(): void {
  try {
    setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
  } catch {
    // Bun's engine is another one, which has no such setting.
  }
}
