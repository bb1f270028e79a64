import { MemoryBudget } from "../../memory-budget.js";
import type { Limits } from "../../limits.js";
import type { ServerLoad } from "../server-load.js";
import type { ResumedCall, ResumedCallHost } from "./resumed-call.js";

/** Calls of one principal, or of one session that was lost, that wait for a session. */
interface Group {
  readonly calls: Set<ResumedCall>;
  readonly budget: MemoryBudget;
  readonly leave: (() => void) | undefined;
}

/** Settings of the session that a call was lost with. */
export interface SuspensionSettings {
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  readonly load: ServerLoad;
}

/** The resumable calls of one router's methods in this process: those that a session carries, and those that wait for one. */
export class ResumableCalls implements ResumedCallHost {
  private readonly calls: Map<string, ResumedCall> = new Map();
  private readonly settings: Map<ResumedCall, SuspensionSettings> = new Map();
  private readonly groups: Map<unknown, Group> = new Map();
  /** Calls that wait, in the order in which they began to. */
  private readonly waiting: Set<ResumedCall> = new Set();

  /** Calls that wait for a session. */
  get suspended(): number {
    return this.waiting.size;
  }

  find(key: string): ResumedCall | undefined {
    return this.calls.get(key);
  }

  /** `call` runs, on a session of these settings. */
  add(call: ResumedCall, settings: SuspensionSettings): void {
    this.calls.set(call.key, call);
    this.settings.set(call, settings);
  }

  onSuspended(call: ResumedCall): MemoryBudget | undefined {
    const settings = this.settings.get(call);
    if (settings === undefined || settings.load.ending) return undefined;
    const { maxSuspendedCalls } = settings.limits;
    if (maxSuspendedCalls === 0) return undefined;
    const name = call.principal === "" ? settings.budget : call.principal;
    // Whose calls are most is whose oldest make room.
    if (this.waiting.size >= maxSuspendedCalls) oldest(this.largest())?.giveUp("resource_exhausted");
    const group = this.groups.get(name) ?? this.newGroup(name, settings);
    group.calls.add(call);
    call.group = name;
    this.waiting.add(call);
    settings.load.suspended.add(call);
    return group.budget;
  }

  onResumed(call: ResumedCall): void {
    if (!this.waiting.delete(call)) return;
    this.settings.get(call)?.load.suspended.delete(call);
    const group = this.groups.get(call.group);
    if (group === undefined) return;
    group.calls.delete(call);
    // What it holds is given back by whoever moves it.
    if (group.calls.size === 0) this.dissolve(call.group, group);
  }

  onOver(call: ResumedCall): void {
    this.calls.delete(call.key);
    this.settings.delete(call);
  }

  private newGroup(name: unknown, { limits, budget }: SuspensionSettings): Group {
    const calls = new Set<ResumedCall>();
    const close = (): void => {
      for (const call of calls) call.giveUp("resource_exhausted");
    };
    const own = budgetBeside(budget, limits.maxSessionBytes, "limits.maxSessionBytes", close);
    const group: Group = { calls, ...own };
    this.groups.set(name, group);
    return group;
  }

  private dissolve(name: unknown, group: Group): void {
    this.groups.delete(name);
    group.leave?.();
  }

  private largest(): Group | undefined {
    let largest: Group | undefined;
    for (const group of this.groups.values()) if (group.calls.size > (largest?.calls.size ?? 0)) largest = group;
    return largest;
  }
}

function oldest(group: Group | undefined): ResumedCall | undefined {
  const [first] = group?.calls ?? [];
  return first;
}

/** Another budget of the same server; `close` gives back what it holds where others need it. */
function budgetBeside(
  { server }: MemoryBudget,
  max: number,
  setting: string,
  close: () => void,
): { budget: MemoryBudget; leave: (() => void) | undefined } {
  const budget = new MemoryBudget(max, setting, server);
  return { budget, leave: server?.enter?.(budget, close) };
}
