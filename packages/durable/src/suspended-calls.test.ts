import { expect, it, vi } from "vitest";
import { ServerLoad } from "@quicrpc/core";
import { completeLimits, MemoryBudget } from "@quicrpc/core/internal";
import type { ResumedCall } from "./resumed-call.js";
import { ResumableCalls } from "./suspended-calls.js";

it("ends suspended calls if the server needs their memory", () => {
  const limits = completeLimits({ maxServerBytes: 30_000, maxSessionBytes: 10_000 });
  const load = new ServerLoad(limits);
  const session = new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", load);
  const calls = new ResumableCalls();
  const cancel = vi.fn<ResumedCall["cancel"]>();
  const call = { key: "a key", principal: "", group: undefined, cancel } as unknown as ResumedCall;
  calls.add(call, { limits, budget: session, load, peer: undefined });
  const suspended = calls.onSuspended(call);
  expect(suspended?.charge(10_000)).toBe(true);
  const others = [1, 2, 3].map(() => new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", load));
  const members = others.map((budget) => load.add({ budget, onEvicted: () => {} }));
  expect(others.map((budget) => budget.charge(9000))).toEqual([true, true, true]);
  expect(cancel).toHaveBeenCalledWith("resource_exhausted");
  for (const member of members) load.remove(member);
});
