import type { MemoryBudget } from "../memory-budget.js";

/** Bytes of memory of one value, by estimate. */
const VALUE_BYTES = 32;
/** Bytes of memory for which sessions that hold more may be closed before a message is decoded. */
const MADE_ROOM = 65_536;

/** Does as `requireRoom` for the values of a message of this many bytes, or of the first of them. */
export function requireRoomToDecode(budget: MemoryBudget, bytes: number): void {
  requireRoom(budget, Math.min(bytes * VALUE_BYTES, MADE_ROOM), "the message");
}

/** Throws `RpcError`, with `refused`, if the budget has no room for this many more bytes. Charges nothing. */
export function requireRoom(budget: MemoryBudget, bytes: number, what: string): void {
  if (bytes <= budget.room) return;
  const error = budget.charge(bytes) ? undefined : budget.refusal(what, true);
  budget.release(bytes);
  if (error !== undefined) throw error;
}
