import type { EventEmitter } from "node:events";

/** Asks `takes` before the listeners that `event` has by now: they hear only of what it does not take. */
export function divert<Args extends readonly unknown[]>(
  emitter: EventEmitter,
  event: string,
  takes: (...args: Args) => boolean,
): void {
  const listeners = emitter.listeners(event);
  emitter.removeAllListeners(event);
  emitter.on(event, (...args) => {
    if (takes(...(args as unknown as Args))) return;
    for (const listener of listeners) Reflect.apply(listener, emitter, args);
  });
}
