const { setImmediate } = globalThis as { readonly setImmediate?: (act: () => void) => unknown };

/** Runs `act` in a later turn of the event loop, after the events that are ready now. */
export const immediate: (act: () => void) => void = setImmediate ?? ((act) => void setTimeout(act, 0));

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves in a later turn of the event loop, and in a different one for each caller. */
export function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>((resolve) => immediate(resolve)));
  return lastTurn;
}
