import { once } from "node:events";

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
