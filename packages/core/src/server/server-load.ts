import type { Code, RpcError } from "../errors.js";
import { completeLimits, type Limits } from "../limits.js";
import { type Link, LinkedSet } from "../linked-set.js";
import type { MemoryBudget, ServerBudget } from "../memory-budget.js";

/** Milliseconds that the handlers of a session have to end when it is closed because of the memory that it holds. */
const GRACE_MS = 1000;

/** A session of a server, or a request over HTTP. */
export interface LoadMember {
  readonly budget: MemoryBudget;
  /** Owner of the place. All waiting places of one owner count together. */
  readonly owner?: LoadOwner;
  /** Closes it, because others need its memory. */
  onEvicted(error: RpcError): void;
}

/** An owner of many members, each of which may be small. */
export interface LoadOwner {
  /** Bytes that all its members hold. */
  held: number;
}

/** The place of a member, for `ServerLoad.remove`. */
export type LoadPlace = Link<LoadMember>;

/** Load of all sessions of one server, which share it. */
export class ServerLoad implements ServerBudget {
  /** Handlers of calls and notifications that have not settled. */
  handlers = 0;
  /** Running handlers whose call is over. */
  outliving = 0;
  /** Bytes that all peers make this side hold, by estimate. */
  held = 0;
  /** Whether the server accepts no more sessions, so that a call without a session is not kept for another one. */
  ending = false;
  readonly max: number;
  readonly setting: string = "limits.maxServerBytes";
  readonly #members: LinkedSet<LoadMember> = new LinkedSet();
  // Created on demand, because a client without a server has a load of its own.
  /** Sessions that were just closed, and are releasing their memory. */
  #leaving: Set<MemoryBudget> | undefined = undefined;
  #waiting: (() => void)[] | undefined = undefined;
  #withoutSession: Set<{ cancel(code: Code): void }> | undefined = undefined;

  constructor(limits?: Partial<Limits>) {
    this.max = completeLimits(limits).maxServerBytes;
  }

  /** Resumable calls that no session carries. */
  get suspended(): Set<{ cancel(code: Code): void }> {
    return (this.#withoutSession ??= new Set());
  }

  /** The memory of sessions that were just closed counts as free. */
  get room(): number {
    let room = this.max - this.held;
    if (this.#leaving !== undefined) for (const budget of this.#leaving) room += budget.held;
    return room;
  }

  /** Fulfils when no handler runs. */
  get idle(): Promise<void> {
    if (this.handlers === 0) return Promise.resolve();
    const waiting = (this.#waiting ??= []);
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Must be called when one of them has settled. */
  handlerSettled(): void {
    if (--this.handlers > 0) return;
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }

  /** Adds a session. Returns its place, to be removed when it has ended; memory that it holds then is charged until it is released. */
  add(member: LoadMember): LoadPlace {
    return this.#members.add(member);
  }

  remove(place: LoadPlace): void {
    this.#members.remove(place);
    // No other code measures it again, and streams that were over before the session were not told of its end.
    place.value.budget.measure();
  }

  /** Called when the server accepts no more sessions. */
  end(): void {
    this.ending = true;
    for (const call of this.#withoutSession ?? []) call.cancel("unavailable");
  }

  /** Corrects `held` by measurement, if possible. */
  measure(): void {
    for (const { value } of this.#members) value.budget.measure();
  }

  /**
   * Closes sessions that hold more than `asking` does, until there is room or it is the largest itself; then what waits for others who hold
   * more than it does.
   */
  makeRoomFor(asking: MemoryBudget): boolean {
    this.measure();
    for (let { room } = this; room < 0; ) {
      const largest = this.#largest(asking) ?? this.#largestOfOthers(asking);
      if (largest === undefined) return false;
      room += largest.value.budget.held;
      this.#evict(largest);
    }
    return true;
  }

  /** The session that holds most, if that is more than `asking` does. */
  #largest(asking: MemoryBudget): LoadPlace | undefined {
    let largest: LoadPlace | undefined;
    let most = asking.held;
    for (const member of this.#members) {
      const { held } = member.value.budget;
      if (held <= most) continue;
      most = held;
      largest = member;
    }
    return largest;
  }

  /**
   * Among the other owners, finds the one that holds most. Returns its largest member if the owner holds more than
   * `asking`; otherwise undefined.
   */
  #largestOfOthers(asking: MemoryBudget): LoadPlace | undefined {
    let owner: LoadOwner | undefined;
    for (const { value } of this.#members) if (value.budget === asking) ({ owner } = value);
    let largest: LoadPlace | undefined;
    for (const member of this.#members) {
      const { value } = member;
      if (value.owner === undefined || value.owner === owner || value.owner.held <= asking.held) continue;
      const most = largest?.value;
      const isMore =
        most?.owner === value.owner
          ? value.budget.held > most.budget.held
          : value.owner.held > (most?.owner?.held ?? 0);
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
