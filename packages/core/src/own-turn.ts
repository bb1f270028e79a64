const { setImmediate: immediate = (act: () => void) => void setTimeout(act, 0) } = globalThis as {
  readonly setImmediate?: (act: () => void) => unknown;
};

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves in a later turn of the event loop, and in a different one for each caller. */
export function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>((resolve) => void immediate(resolve)));
  return lastTurn;
}
