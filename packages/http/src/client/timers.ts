import type { Timers } from "@quicrpc/core/transport";

type Timer = ReturnType<typeof setTimeout>;

/** Largest delay of a platform's timer. */
const MAX_DELAY = 2 ** 31 - 1;

/** A timer of the platform for each deadline: it costs little beside a request, and a page needs no queue of its own. */
export const timers: Timers<Timer> = {
  add: (delayMs, onExpired) => setTimeout(onExpired, Math.min(delayMs, MAX_DELAY)),
  remove: (timer) => clearTimeout(timer),
};
