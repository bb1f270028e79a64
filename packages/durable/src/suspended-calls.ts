import type { Limits, ServerLoad } from "@quicrpc/core";
import { MemoryBudget, sourceOf } from "@quicrpc/core/internal";
import type { ResumedCall } from "./resumed-call.js";

/** Suspended calls of one principal. For callers without a principal, those of one lost session. */
interface Group {
  /** Client of the calls: their principal, or the address of their session if it is known. */
  readonly client: unknown;
  readonly calls: Set<ResumedCall>;
  readonly budget: MemoryBudget;
  /** Removes the group's memory budget from those of the server. */
  readonly release: () => void;
}

/** Settings of the session on which a call was lost. */
export interface SuspensionSettings {
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  readonly load: ServerLoad;
  /** Name of the peer: its address and port. Undefined if it has none. */
  readonly peer: string | undefined;
}

const HOST_AND_PORT = /^\[?(.+?)\]?:\d+$/;

/** Resumable calls of one router's methods in this process: those that a session carries, and suspended calls. */
export class ResumableCalls {
  readonly #calls: Map<string, ResumedCall> = new Map();
  readonly #settings: Map<ResumedCall, SuspensionSettings> = new Map();
  readonly #groups: Map<unknown, Group> = new Map();
  /** Suspended calls. */
  readonly #waiting: Set<ResumedCall> = new Set();
  /** Number of suspended calls, by client. */
  readonly #clients: Map<unknown, number> = new Map();

  find(key: string): ResumedCall | undefined {
    return this.#calls.get(key);
  }

  add(call: ResumedCall, settings: SuspensionSettings): void {
    this.#calls.set(call.key, call);
    this.#settings.set(call, settings);
  }

  /**
   * Suspends a call whose session was lost. Returns the memory budget that is charged for the call from now on, or
   * undefined if the call cannot be kept.
   */
  onSuspended(call: ResumedCall): MemoryBudget | undefined {
    const settings = this.#settings.get(call);
    if (settings === undefined || settings.load.ending) return undefined;
    const { maxSuspendedCalls } = settings.limits;
    if (maxSuspendedCalls === 0) return undefined;
    const name = call.principal === "" ? settings.budget : call.principal;
    // Ends the oldest call of the client with the most calls, to make room.
    if (this.#waiting.size >= maxSuspendedCalls) oldest(this.#largest())?.cancel("resource_exhausted");
    const group = this.#groups.get(name) ?? this.#newGroup(name, settings);
    group.calls.add(call);
    call.group = name;
    this.#waiting.add(call);
    this.#count(group.client, 1);
    settings.load.suspended.add(call);
    return group.budget;
  }

  onResumed(call: ResumedCall): void {
    if (!this.#waiting.delete(call)) return;
    this.#settings.get(call)?.load.suspended.delete(call);
    const group = this.#groups.get(call.group);
    if (group === undefined) return;
    group.calls.delete(call);
    this.#count(group.client, -1);
    // The code that moves a call releases what the call holds.
    if (group.calls.size === 0) this.#dissolve(call.group, group);
  }

  onOver(call: ResumedCall): void {
    this.#calls.delete(call.key);
    this.#settings.delete(call);
  }

  #newGroup(name: unknown, { limits, budget: { server }, load, peer }: SuspensionSettings): Group {
    const host = HOST_AND_PORT.exec(peer ?? "")?.[1];
    const client =
      typeof name === "string" ? `principal ${name}` : host === undefined ? name : `address ${sourceOf(host)}`;
    const calls = new Set<ResumedCall>();
    const onEvicted = (): void => {
      for (const call of calls) call.cancel("resource_exhausted");
    };
    const budget = new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", server);
    const entry = load.add({ budget, onEvicted });
    const group: Group = { client, calls, budget, release: () => load.remove(entry) };
    this.#groups.set(name, group);
    return group;
  }

  #dissolve(name: unknown, group: Group): void {
    this.#groups.delete(name);
    group.release();
  }

  #count(client: unknown, calls: number): void {
    const count = (this.#clients.get(client) ?? 0) + calls;
    if (count === 0) this.#clients.delete(client);
    else this.#clients.set(client, count);
  }

  /** Returns a group of the client with the most suspended calls: the one with the most calls. */
  #largest(): Group | undefined {
    let mostCalls = 0;
    let largest: Group | undefined;
    for (const group of this.#groups.values()) {
      const count = this.#clients.get(group.client) ?? 0;
      if (count < mostCalls || (count === mostCalls && group.calls.size <= (largest?.calls.size ?? 0))) continue;
      mostCalls = count;
      largest = group;
    }
    return largest;
  }
}

function oldest(group: Group | undefined): ResumedCall | undefined {
  const [first] = group?.calls ?? [];
  return first;
}
