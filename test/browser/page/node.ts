import { Buffer } from "buffer/index.js";
import { notHere } from "./vitest.js";

/** Stands for Node's modules and globals in the page: a test that asks for more skips. */
const none = (): never => notHere("it asks Node itself");

export { Buffer };
export const getEventListeners = none;
export const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));
export const setImmediate = (run: () => void): unknown => globalThis.setTimeout(run, 0);

const { setTimeout: start, clearTimeout: stop } = globalThis;
const active = new Set<unknown>();

function setTracked(run: TimerHandler, ms?: number, ...given: unknown[]): number {
  const timer = start(() => {
    active.delete(timer);
    (run as (...given: unknown[]) => void)(...given);
  }, ms) as unknown as number;
  active.add(timer);
  return timer;
}

function clearTracked(timer: number | undefined): void {
  active.delete(timer);
  stop(timer);
}

Object.assign(globalThis, { setTimeout: setTracked, clearTimeout: clearTracked });

export const process = {
  env: {},
  getActiveResourcesInfo: (): string[] => Array.from(active, () => "Timeout"),
  get versions(): never {
    return none();
  },
  memoryUsage: none,
  once: none,
};
