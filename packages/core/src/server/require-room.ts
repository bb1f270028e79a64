import type { MemoryBudget } from "../memory-budget.js";

/** Bytes of memory of one value, by estimate. */
const VALUE_BYTES = 32;
/** Bytes of memory for which sessions that hold more may be closed before a message is decoded. */
const MADE_ROOM = 65_536;

/**
 * Does as `requireRoom` for the values of a message of this many bytes, or of the first of them, if the server has no
 * room. The decoder checks the session's own limit, which closing other sessions does not change.
 */
export function requireRoomToDecode(budget: MemoryBudget, bytes: number): void {
  const { server } = budget;
  const needed = Math.min(bytes * VALUE_BYTES, MADE_ROOM, budget.max - budget.held);
  if (server === undefined || needed <= Math.max(0, server.max - server.held)) return;
  requireRoom(budget, needed, "the message");
}

/** Throws `RpcError`, with `refused`, if the budget has no room for this many more bytes. Charges nothing. */
export function requireRoom(budget: MemoryBudget, bytes: number, what: string): void {
  if (bytes <= budget.room) return;
  const fits = budget.charge(bytes);
  budget.release(bytes);
  if (!fits) throw budget.refusal(what, true, bytes);
}
