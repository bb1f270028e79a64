import { type Expiry, reminders } from "../call/expiries.js";
import { RpcError } from "../errors.js";
import { guarded } from "../guarded.js";
import type { Limits } from "../limits.js";
import { CALL_BYTES, type MemoryBudget } from "../memory-budget.js";
import { turnedAway } from "../transport/close-codes.js";
import { immediate } from "../turn-pace.js";
import type { ErrorHook } from "./dispatch.js";
import type { ServerLoad } from "./server-load.js";

/** Decides for each incoming call whether the server is too busy for it. Sessions may share a load shedder. */
export interface LoadShedder {
  /**
   * Called for every incoming call. Returns undefined to accept the call, or the reason to refuse it with
   * `unavailable`.
   */
  objection(): string | undefined;
  /** Called with 1 when an asynchronous call starts, and with -1 when the call and its handler have ended. */
  onCalls?(change: 1 | -1): void;
}

/** Wraps `shedder` so that its exceptions are passed to `onError`. If `objection` throws, the call is refused. */
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

/** Limits the calls of each client, for a server on which several clients share one limit. */
export interface ClientShares {
  /**
   * Throws `RpcError` if the client has too many calls in progress.
   *
   * @param client client id; undefined for an unidentified client
   * @param calls number of calls of all clients together
   */
  requireRoom(client: string | undefined, calls: number): void;
  /** Called with 1 when a call of the client starts, and with -1 when it ends. */
  count(client: string | undefined, change: 1 | -1): void;
}

export interface AdmissionSettings {
  readonly limits: Limits;
  readonly loadShedder: LoadShedder | undefined;
  readonly load: ServerLoad;
  readonly onError: ErrorHook;
  readonly shares?: ClientShares;
  isRefusing(): boolean;
  onIdle(): void;
}

/** Time in milliseconds for which handlers may run before further calls wait for the next turn of the event loop. */
const TURN_MS = 5;
/**
 * Estimated time in milliseconds of the code that an asynchronous handler runs after an `await`, which is not measured.
 */
const ASYNC_MS = 0.005;
/**
 * Maximum number of calls that wait for the next turn of the event loop. Beyond it, the oldest waiting call starts at
 * once, to save memory.
 */
const MAX_WAITING_FOR_TURN = 4096;
/** Estimated memory of one decoded value, in bytes. */
const VALUE_BYTES = 32;
/** Maximum memory in bytes that may be freed, by closing other sessions, before a message is decoded. */
const MADE_ROOM = 65_536;
/** If a handler returns within this many milliseconds, later handlers are measured less often. */
const QUICK_MS = 1;
/** Maximum number of handlers from one measured handler to the next. */
const MAX_INTERVAL = 32;

/** The time that handlers may take in a turn of the event loop. A session has one, and its batches share it. */
class Turn {
  /** Whether handlers have used up the `TURN_MS` of this turn of the event loop. */
  isOver = false;
  /** Estimated time for which handlers have run in this turn of the event loop, in milliseconds. */
  usedMs = 0;
  /** Admissions with calls that wait for the next turn, in the order in which they start them. */
  #waiting: Set<Admission> | undefined = undefined;

  onNext(admission: Admission): void {
    (this.#waiting ??= new Set()).add(admission);
  }

  /** Runs `run`, and returns the milliseconds that it took. They count `weight` times. */
  measure(run: () => void, weight: number = 1): number {
    const startedAt = performance.now();
    run();
    const ms = performance.now() - startedAt;
    this.usedMs += ms * weight;
    if (this.usedMs >= TURN_MS && !this.isOver) {
      this.isOver = true;
      immediate(() => this.#begin());
    }
    return ms;
  }

  #begin(): void {
    this.isOver = false;
    this.usedMs = 0;
    for (const admission of this.#waiting ?? []) {
      if (this.isOver) return;
      this.#waiting?.delete(admission);
      // Calls `onNext` again if calls are left: other admissions then come first.
      admission.startWaiting();
    }
  }
}

/**
 * Decides whether an incoming call is served now, served later, or refused. A call waits while `limits.maxCalls` calls
 * are in progress, or after handlers have run for a while, so that other sessions can run.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  #inProgress = 0;
  /** Number of handlers that are still running although their call has ended. */
  #outliving = 0;
  #starting = false;
  /** Waiting calls, in the order of their arrival; undefined until a call has to wait. */
  #waiting: Set<() => void> | undefined = undefined;
  readonly #turn: Turn;
  /** Measuring interval: one of this many handlers is measured. */
  #interval = 1;
  /** Number of handlers to run until the next one is measured by `runTimed`. */
  untimed = 1;

  constructor(settings: AdmissionSettings, turn: Turn = new Turn()) {
    this.#settings = settings;
    this.#turn = turn;
  }

  get load(): ServerLoad {
    return this.#settings.load;
  }

  /**
   * Returns an admission for calls that are served within one call in progress. It shares the server's load and the
   * turns of this admission, and also admits calls while the session drains. Calls beyond `maxCalls` wait.
   *
   * @param onIdle called when no call is left and all handlers have settled
   */
  within(maxCalls: number, onIdle: () => void): Admission {
    const { limits, loadShedder, load, onError } = this.#settings;
    const own = { ...limits, maxCalls, maxWaitingCalls: Number.POSITIVE_INFINITY };
    return new Admission({ limits: own, loadShedder, load, onError, isRefusing: () => false, onIdle }, this.#turn);
  }

  get calls(): number {
    return this.#inProgress + (this.#waiting?.size ?? 0);
  }

  get mustWait(): boolean {
    return this.#turn.isOver || this.#isFull;
  }

  get #isFull(): boolean {
    return this.#inProgress >= this.#settings.limits.maxCalls;
  }

  /**
   * Runs a handler and measures its time. If handlers have run for too long, later calls wait for the next turn of the
   * event loop.
   */
  runTimed(run: () => void): void {
    const ms = this.#turn.measure(run, this.#interval);
    this.#interval = ms > QUICK_MS ? 1 : Math.min(2 * this.#interval, MAX_INTERVAL);
    this.untimed = this.#interval;
  }

  /** Runs `run`, whose time counts as that of handlers. */
  measure(run: () => void): void {
    this.#turn.measure(run);
  }

  /**
   * Calls `accept`, which accepts a request, when a call may run. Its time counts as that of handlers. Returns undefined
   * if it was called at once, otherwise a function that removes it from the queue.
   */
  whenFree(accept: () => void): (() => void) | undefined {
    if (!this.mustWait) {
      this.measure(accept);
      return undefined;
    }
    const entry = (): void => this.measure(accept);
    this.#enqueue(entry);
    return () => void this.#waiting?.delete(entry);
  }

  /**
   * Throws `RpcError` if a new request must be refused; its handler does not run then.
   *
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
   * Throws `RpcError` if a new notification must be refused. A draining session still accepts notifications, because
   * their sender would not learn of a refusal.
   */
  requireRoomForNotify(): void {
    this.#shed();
    if (this.#isFull) throw refusal("resource_exhausted", this.#crowd(this.#inProgress));
  }

  begin(client?: string): void {
    this.#settings.shares?.count(client, 1);
    this.#start();
  }

  #start(): void {
    this.#turn.usedMs += ASYNC_MS;
    this.#inProgress++;
    this.#settings.load.handlers++;
    this.#settings.loadShedder?.onCalls?.(1);
  }

  /**
   * Counts a call that is served outside of this session and must not wait. Returns the function to call when it ends.
   * Throws `RpcError` if `limits.maxCalls` calls are in progress.
   */
  attach(client?: string): () => void {
    if (this.#isFull) throw refusal("resource_exhausted", this.#crowd(this.#inProgress));
    return this.hold(client);
  }

  /** Counts a call in progress, even beyond `limits.maxCalls`. Returns the function to call when it ends. */
  hold(client?: string): () => void {
    this.#settings.shares?.count(client, 1);
    this.#inProgress++;
    return () => {
      this.#settings.shares?.count(client, -1);
      this.#inProgress--;
      this.startWaiting();
      this.#checkIdle();
    };
  }

  /**
   * Called when a call of `method` has ended but its handler is still running. The handler still counts as a call in
   * progress, and is reported to `onError` after `limits.handlerGraceMs`. Returns the function to call when the handler
   * has settled, in addition to `end`.
   */
  outlive(method: string): () => void {
    const { load, limits, onError } = this.#settings;
    const { handlerGraceMs } = limits;
    this.#outliving++;
    load.outliving++;
    const text = `the handler is still running ${handlerGraceMs} ms after its call ended (limits.handlerGraceMs), and counts as a call in progress until it returns: stop its work when context.signal aborts`;
    const reminder: Expiry = reminders.add(handlerGraceMs, () => onError(new Error(text), { method }));
    return () => {
      reminders.remove(reminder);
      this.#outliving--;
      load.outliving--;
    };
  }

  /** Called when a call has ended and its handler has settled. */
  end(client?: string): void {
    this.#settings.shares?.count(client, -1);
    this.#inProgress--;
    this.#settings.loadShedder?.onCalls?.(-1);
    this.#settings.load.handlerSettled();
    this.startWaiting();
    this.#checkIdle();
  }

  /**
   * Puts a call in the queue. Counts it as in progress and calls `start` when it may run. Returns a function that
   * removes it from the queue.
   */
  wait(start: () => void, client?: string): () => void {
    this.#settings.shares?.count(client, 1);
    const entry = (): void => {
      this.#start();
      start();
    };
    const waiting = this.#enqueue(entry);
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

  #enqueue(entry: () => void): Set<() => void> {
    const waiting = (this.#waiting ??= new Set());
    waiting.add(entry);
    if (this.#turn.isOver) this.#turn.onNext(this);
    return waiting;
  }

  /** Starts waiting calls while there is room. It is a loop, because a started call may end at once. */
  startWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#starting) return;
    this.#starting = true;
    for (const start of waiting) {
      if (this.mustWait) break;
      waiting.delete(start);
      start();
    }
    this.#starting = false;
    if (waiting.size > 0 && this.#turn.isOver) this.#turn.onNext(this);
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
 * Makes room in the server's memory budget for decoding a message of `bytes` bytes, by closing sessions that use more
 * memory. If that does not suffice, the decoder refuses the message.
 */
export function makeRoomToDecode(budget: MemoryBudget, bytes: number): void {
  const needed = Math.min(bytes * VALUE_BYTES, MADE_ROOM, budget.max - budget.held);
  if (needed > 0) makeRoom(budget, needed);
}

/**
 * Throws `RpcError`, with `refused` set, if the memory budget has no room for `bytes` more bytes. Does not reserve
 * them.
 *
 * @param subject describes the data, for the error message
 */
export function requireRoom(budget: MemoryBudget, bytes: number, subject: string): void {
  if (!makeRoom(budget, bytes)) throw budget.refusal(subject, true, bytes);
}

/**
 * Returns true if the memory budget has room for `bytes` more bytes, possibly after closing sessions that use more
 * memory.
 */
function makeRoom(budget: MemoryBudget, bytes: number): boolean {
  if (bytes <= budget.room) return true;
  const isCharged = budget.charge(bytes);
  budget.release(bytes);
  return isCharged;
}

/**
 * Returns the number of bytes to charge to the memory budget for a call that stays in progress after its handler has
 * returned. Throws `RpcError` if the budget has no room.
 *
 * @param bytes size of the request
 * @param message estimated size of the decoded message in memory
 */
export function callBytes(budget: MemoryBudget, bytes: number, message: number): number {
  // Undecoded metadata is part of the request's bytes.
  const held = CALL_BYTES + Math.max(bytes, message);
  requireRoom(budget, held, "the call");
  return held;
}
