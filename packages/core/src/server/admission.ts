import { type Expiry, reminders } from "../call/expiries.js";
import { RpcError } from "../errors.js";
import { guarded } from "../guarded.js";
import type { Limits } from "../limits.js";
import { CALL_BYTES, type MemoryBudget } from "../memory-budget.js";
import { turnedAway } from "../transport/close-codes.js";
import { immediate } from "../turn-pace.js";
import type { ErrorHook } from "./dispatch.js";
import type { ServerLoad } from "./server-load.js";

/** Decides, for all sessions that share it, whether calls are accepted. */
export interface LoadShedder {
  /** Returns the reason to refuse a call that arrives now, with `unavailable`; undefined if it is accepted. Called for every call. */
  objection(): string | undefined;
  /** Called when an asynchronous call starts (1), and when it is over and its handler has settled (-1). */
  onCalls?(change: 1 | -1): void;
}

/** Wraps `shedder` so that its exceptions are passed to `onError`. A call for which it throws is refused. */
export function guardedShedder(shedder: LoadShedder, onError: ErrorHook): LoadShedder {
  const report = (thrown: unknown): void => onError(thrown, { method: "loadShedder" });
  return {
    objection() {
      try {
        return shedder.objection();
      } catch (thrown) {
        report(thrown);
        return "the server cannot tell whether it has room for the call (loadShedder)";
      }
    },
    onCalls: guarded((change: 1 | -1) => shedder.onCalls?.(change), report),
  };
}

/** Limits the calls of each client, if several clients share the limiter. */
export interface ClientShares {
  /**
   * Throws `RpcError` if the client has too many calls.
   * @param client undefined for a client that is not distinguished
   * @param calls number of calls of all clients
   */
  requireRoom(client: string | undefined, calls: number): void;
  /** Called when the client has one more call (1), or one fewer (-1). */
  count(client: string | undefined, change: 1 | -1): void;
}

/** Settings of admission. */
export interface AdmissionSettings {
  readonly limits: Limits;
  readonly loadShedder: LoadShedder | undefined;
  readonly load: ServerLoad;
  readonly onError: ErrorHook;
  readonly shares?: ClientShares;
  /** Whether the session is being drained. */
  isRefusing(): boolean;
  /** Called when no call is in progress. */
  onIdle(): void;
}

/** Milliseconds for which handlers run before the calls that follow wait for the next turn of the event loop. */
const TURN_MS = 5;
/** Milliseconds that an asynchronous call counts for, in addition to its handler: what it does after an `await` is not timed. */
const ASYNC_MS = 0.005;
/** Most calls that wait for the next turn. With more, the oldest starts at once, so that waiting calls take little memory. */
const MAX_WAITING_FOR_TURN = 4096;
/** Bytes of memory of one value, by estimate. */
const VALUE_BYTES = 32;
/** Most bytes for which other sessions are closed before a message is decoded. */
const MADE_ROOM = 65_536;
/** Handlers that return within this many milliseconds are timed less often. */
const QUICK_MS = 1;
/** Most handlers from one that is timed to the next. */
const MAX_INTERVAL = 32;

/**
 * Decides whether a call of the peer is served now, later, or not at all. A call waits while as many as are allowed are in progress, and
 * when handlers have run for a while: then other sessions have their turn.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  #inProgress = 0;
  /** Running handlers whose call is over. */
  #outliving = 0;
  #starting = false;
  /** Calls that wait, in order; undefined until there is one. */
  #waiting: Set<() => void> | undefined = undefined;
  /** Whether handlers have run for `TURN_MS`. */
  #isTurnOver = false;
  /** Estimated milliseconds for which handlers have run in this turn. */
  #usedMs = 0;
  /** Number of handlers that the latest measured time stands for. */
  #interval = 1;
  /** Number of handlers until one is to be run by `runTimed`. */
  untimed = 1;

  constructor(settings: AdmissionSettings) {
    this.#settings = settings;
  }

  get load(): ServerLoad {
    return this.#settings.load;
  }

  /** Number of calls and notifications in progress, including those that wait for their turn. */
  get calls(): number {
    return this.#inProgress + (this.#waiting?.size ?? 0);
  }

  /** Whether an accepted call has to wait. */
  get mustWait(): boolean {
    return this.#isTurnOver || this.#isFull;
  }

  get #isFull(): boolean {
    return this.#inProgress >= this.#settings.limits.maxCalls;
  }

  /** Runs a handler by `run`, and ends the turn if handlers have run for long. */
  runTimed(run: () => void): void {
    const begun = performance.now();
    run();
    const ms = performance.now() - begun;
    this.#usedMs += ms * this.#interval;
    this.#interval = ms > QUICK_MS ? 1 : Math.min(2 * this.#interval, MAX_INTERVAL);
    this.untimed = this.#interval;
    if (this.#usedMs < TURN_MS || this.#isTurnOver) return;
    this.#isTurnOver = true;
    immediate(() => {
      this.#isTurnOver = false;
      this.#usedMs = 0;
      this.#startWaiting();
    });
  }

  /**
   * Throws `RpcError` if a request is refused; no handler has seen it then.
   * @param client client id, if several clients share the limiter
   */
  requireRoom(client?: string): void {
    if (this.#settings.isRefusing()) throw turnedAway("the session is being drained");
    this.#shed();
    this.#settings.shares?.requireRoom(client, this.calls);
    const { maxCalls, maxWaitingCalls } = this.#settings.limits;
    if (this.mustWait && this.calls >= maxCalls + maxWaitingCalls) {
      const queue = maxWaitingCalls === 0 ? "" : ` and ${maxWaitingCalls} wait (limits.maxWaitingCalls)`;
      throw refusal("resource_exhausted", `${this.#crowd(maxCalls)}${queue}`);
    }
  }

  /**
   * The same for a notification. A draining server accepts it, because its sender could not be told that it was
   * refused.
   */
  requireRoomForNotify(): void {
    this.#shed();
    if (this.#isFull) throw refusal("resource_exhausted", this.#crowd(this.#inProgress));
  }

  /** Counts an asynchronous call that starts. */
  begin(client?: string): void {
    this.#settings.shares?.count(client, 1);
    this.#start();
  }

  #start(): void {
    this.#usedMs += ASYNC_MS;
    this.#inProgress++;
    this.#settings.load.handlers++;
    this.#settings.loadShedder?.onCalls?.(1);
  }

  /**
   * Counts a call that runs elsewhere and cannot wait for its turn. Returns the function to call when it is over.
   * Throws `RpcError` if there is no place for it.
   */
  attach(client?: string): () => void {
    if (this.#isFull) throw refusal("resource_exhausted", this.#crowd(this.#inProgress));
    this.#settings.shares?.count(client, 1);
    this.#inProgress++;
    return () => {
      this.#settings.shares?.count(client, -1);
      this.#inProgress--;
      this.#startWaiting();
      this.#checkIdle();
    };
  }

  /**
   * A call of `method` is over, but its handler has not settled: it stays in progress, and is reported after a while.
   * Returns the function to call, in addition to `end`, when the handler has settled.
   */
  outlive(method: string): () => void {
    const { load, limits, onError } = this.#settings;
    const { handlerGraceMs } = limits;
    this.#outliving++;
    load.outliving++;
    const text = `the handler runs on ${handlerGraceMs} ms after its call was over (limits.handlerGraceMs), and counts as a call in progress: context.signal says when nobody waits for it`;
    const reminder: Expiry = reminders.add(handlerGraceMs, () => onError(new Error(text), { method }));
    return () => {
      reminders.remove(reminder);
      this.#outliving--;
      load.outliving--;
    };
  }

  /** Called when a started call is over and its handler has settled. */
  end(client?: string): void {
    this.#settings.shares?.count(client, -1);
    this.#inProgress--;
    this.#settings.loadShedder?.onCalls?.(-1);
    this.#settings.load.handlerSettled();
    this.#startWaiting();
    this.#checkIdle();
  }

  /** Calls `start` when it is the call's turn; it is counted then, without `begin`. Returns a function that ends the wait. */
  wait(start: () => void, client?: string): () => void {
    this.#settings.shares?.count(client, 1);
    const entry = (): void => {
      this.#start();
      start();
    };
    const waiting = (this.#waiting ??= new Set());
    waiting.add(entry);
    for (const oldest of waiting) {
      if (waiting.size <= MAX_WAITING_FOR_TURN || this.#isFull) break;
      waiting.delete(oldest);
      oldest();
    }
    return () => {
      if (!waiting.delete(entry)) return;
      this.#settings.shares?.count(client, -1);
      this.#checkIdle();
    };
  }

  /** Starts waiting calls, in a loop: one that ends at once makes room for the next. */
  #startWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#starting) return;
    this.#starting = true;
    for (const start of waiting) {
      if (this.mustWait) break;
      waiting.delete(start);
      start();
    }
    this.#starting = false;
  }

  #checkIdle(): void {
    if (this.calls === 0) this.#settings.onIdle();
  }

  #crowd(calls: number): string {
    const outliving = this.#outliving;
    const hung = outliving === 0 ? "" : `, ${outliving} of them over but for handlers that run on`;
    return `${calls} calls are in progress (limits.maxCalls)${hung}`;
  }

  #shed(): void {
    const objection = this.#settings.loadShedder?.objection();
    if (objection !== undefined) throw refusal("unavailable", objection);
  }
}

function refusal(code: "unavailable" | "resource_exhausted", text: string): RpcError {
  return new RpcError(code, text, { refused: true });
}

/**
 * Closes sessions that hold more if the server has no room for the values of a message of this many bytes, or for the
 * first of them. The decoder refuses a message that does not fit all the same.
 */
export function makeRoomToDecode(budget: MemoryBudget, bytes: number): void {
  const needed = Math.min(bytes * VALUE_BYTES, MADE_ROOM, budget.max - budget.held);
  if (needed > 0) makeRoom(budget, needed);
}

/** Throws `RpcError`, with `refused`, if the budget has no room for this many more bytes. Charges nothing. */
export function requireRoom(budget: MemoryBudget, bytes: number, what: string): void {
  if (!makeRoom(budget, bytes)) throw budget.refusal(what, true, bytes);
}

/** Returns true if the budget has room for this many more bytes, if necessary after sessions that hold more are closed. */
function makeRoom(budget: MemoryBudget, bytes: number): boolean {
  if (bytes <= budget.room) return true;
  const fits = budget.charge(bytes);
  budget.release(bytes);
  return fits;
}

/**
 * Returns the bytes that a call is charged if it stays open after its handler has returned, given the bytes of its
 * request and of its decoded message. Throws `RpcError` if the budget has no room for them.
 */
export function callBytes(budget: MemoryBudget, bytes: number, message: number): number {
  // Metadata is kept undecoded, within the call's bytes.
  const held = CALL_BYTES + Math.max(bytes, message);
  requireRoom(budget, held, "the call");
  return held;
}
