import { vi } from "vitest";

/** Timers pass when a test says so, and clocks agree with them, until `vi.useRealTimers()`. Microtasks and immediates run as ever. */
export function startVirtualTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
}

/** Lets so many milliseconds pass, with all that happens in them. */
export function pass(ms: number): Promise<unknown> {
  return vi.advanceTimersByTimeAsync(ms);
}

/** Waits for a promise while time passes: also what seems immediate may need it, as one delivery in many of a pair in memory does. */
export async function meanwhile<T>(promise: Promise<T>): Promise<T> {
  const over: true[] = [];
  const end = (): void => void over.push(true);
  promise.then(end, end);
  for (let ms = 0; over.length === 0 && ms < 20_000; ms++) await pass(1);
  return promise;
}
