import type { EventEmitter } from "node:events";

/**
 * Calls `takes` before the current listeners of `event`. They receive only events that `takes` rejects, or later passes
 * on by calling `pass`.
 */
export function divert<Args extends readonly unknown[]>(
  emitter: EventEmitter,
  event: string,
  takes: (pass: () => void, ...args: Args) => boolean,
): void {
  const listeners = emitter.listeners(event);
  emitter.removeAllListeners(event);
  emitter.on(event, (...args: unknown[]) => {
    const pass = (): void => {
      for (const listener of listeners) Reflect.apply(listener, emitter, args);
    };
    if (!takes(pass, ...(args as unknown as Args))) pass();
  });
}
