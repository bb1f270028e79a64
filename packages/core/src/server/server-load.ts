import type { Code, RpcError } from "../errors.js";
import { completeLimits, type Limits } from "../limits.js";
import { type ListLink, LinkedSet } from "../linked-set.js";
import type { MemoryBudget, ServerBudget } from "../memory-budget.js";

/** Time in milliseconds for which an evicted session's memory counts as free while its handlers end. */
const GRACE_MS = 1000;

/** A session, HTTP request or other object that counts towards a server's memory limit. */
export interface LoadMember {
  readonly budget: MemoryBudget;
  /**
   * Owner of this member, such as the client of several uploads. The memory of all members with the same owner counts
   * together.
   */
  readonly owner?: LoadOwner;
  /** Closes the session or request with `error`, because others need its memory. */
  onEvicted(error: RpcError): void;
}

/** Owner of several members of a `ServerLoad`, such as a client with several uploads. */
export interface LoadOwner {
  /** Memory of all members of this owner, in bytes. */
  held: number;
}

/** Handle of a member of a `ServerLoad`, to pass to `remove`. */
export type LoadPlace = ListLink<LoadMember>;

/** Memory use and running handlers of all sessions of one server. */
export class ServerLoad implements ServerBudget {
  /** Number of running handlers of calls and notifications. */
  handlers = 0;
  /** Number of handlers that are still running although their call has ended. */
  outliving = 0;
  /** Estimated memory that all peers together use on this server, in bytes. */
  held = 0;
  /**
   * Whether the server is closing: it accepts no more sessions, and does not keep resumable calls for a new session.
   */
  ending = false;
  readonly max: number;
  readonly setting: string = "limits.maxServerBytes";
  readonly #members: LinkedSet<LoadMember> = new LinkedSet();
  // Created on demand, because each client has a `ServerLoad` even without a server.
  /** Memory budgets of sessions that were just closed and are releasing their memory. */
  #leaving: Set<MemoryBudget> | undefined = undefined;
  #waiting: (() => void)[] | undefined = undefined;
  #withoutSession: Set<{ cancel(code: Code): void }> | undefined = undefined;

  constructor(limits?: Partial<Limits>) {
    this.max = completeLimits(limits).maxServerBytes;
  }

  /** Resumable calls that wait for their client to reconnect. */
  get suspended(): Set<{ cancel(code: Code): void }> {
    return (this.#withoutSession ??= new Set());
  }

  /** Free memory in bytes. The memory of sessions that were just closed counts as free. */
  get room(): number {
    let room = this.max - this.held;
    if (this.#leaving !== undefined) for (const budget of this.#leaving) room += budget.held;
    return room;
  }

  /** A promise that resolves when no handler is running. */
  get idle(): Promise<void> {
    if (this.handlers === 0) return Promise.resolve();
    const waiting = (this.#waiting ??= []);
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Called when a handler has finished or failed. */
  handlerSettled(): void {
    if (--this.handlers > 0) return;
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }

  /**
   * Adds a session or request. Returns the handle with which to remove it when it has ended. Memory that it uses then
   * stays charged until it is released.
   */
  add(member: LoadMember): LoadPlace {
    return this.#members.add(member);
  }

  remove(place: LoadPlace): void {
    this.#members.remove(place);
    // The last chance to measure the memory of this member.
    place.value.budget.measure();
  }

  /** Called when the server starts to close. Cancels the resumable calls that have no session. */
  end(): void {
    this.ending = true;
    for (const call of this.#withoutSession ?? []) call.cancel("unavailable");
  }

  /** Updates `held` by measuring the memory of all members. */
  measure(): void {
    for (const { value } of this.#members) value.budget.measure();
  }

  /**
   * Frees memory for `requester` by closing members that use more memory than `requester`, the largest first; then members of
   * other owners that use more in total. Returns true if there is enough room.
   */
  makeRoomFor(requester: MemoryBudget): boolean {
    this.measure();
    for (let { room: free } = this; free < 0; ) {
      const largest = this.#largest(requester) ?? this.#largestOfOthers(requester);
      if (largest === undefined) return false;
      free += largest.value.budget.held;
      this.#evict(largest);
    }
    return true;
  }

  /** Returns the member that uses the most memory; undefined if none uses more than `requester`. */
  #largest(asking: MemoryBudget): LoadPlace | undefined {
    let largest: LoadPlace | undefined;
    let mostHeld = asking.held;
    for (const member of this.#members) {
      const { held } = member.value.budget;
      if (held <= mostHeld) continue;
      mostHeld = held;
      largest = member;
    }
    return largest;
  }

  /**
   * Returns the largest member of the other owner that uses the most memory; undefined if none uses more than `requester`.
   */
  #largestOfOthers(requester: MemoryBudget): LoadPlace | undefined {
    let owner: LoadOwner | undefined;
    for (const { value } of this.#members) if (value.budget === requester) ({ owner } = value);
    let largest: LoadPlace | undefined;
    for (const member of this.#members) {
      const { value } = member;
      if (value.owner === undefined || value.owner === owner || value.owner.held <= requester.held) continue;
      const first = largest?.value;
      const isMore =
        first?.owner === value.owner
          ? value.budget.held > first.budget.held
          : value.owner.held > (first?.owner?.held ?? 0);
      if (isMore) largest = member;
    }
    return largest;
  }

  #evict(place: LoadPlace): void {
    const { value: member } = place;
    const { budget } = member;
    const error = budget.refusal("the session");
    this.#members.remove(place);
    const leaving = (this.#leaving ??= new Set());
    leaving.add(budget);
    const timer: unknown = setTimeout(() => leaving.delete(budget), GRACE_MS);
    (timer as { unref?(): void }).unref?.();
    member.onEvicted(error);
  }
}
