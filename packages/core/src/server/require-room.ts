import type { MemoryBudget } from "../memory-budget.js";

/** Throws `RpcError`, with `refused`, where `what` cannot hold so many more bytes. Nothing is held. */
export function requireRoom(budget: MemoryBudget, bytes: number, what: string): void {
  if (bytes <= budget.room) return;
  const error = budget.charge(bytes) ? undefined : budget.refusal(what, true);
  budget.release(bytes);
  if (error !== undefined) throw error;
}
