import type { MemoryBudget } from "../memory-budget.js";

/** Throws `RpcError`, with `refused`, if the budget has no room for this many more bytes. Charges nothing. */
export function requireRoom(budget: MemoryBudget, bytes: number, what: string): void {
  if (bytes <= budget.room) return;
  const error = budget.charge(bytes) ? undefined : budget.refusal(what, true);
  budget.release(bytes);
  if (error !== undefined) throw error;
}
