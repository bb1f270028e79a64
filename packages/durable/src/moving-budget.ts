import type { RpcError } from "@quicrpc/core";
import { type Measured, MemoryBudget } from "@quicrpc/core/internal";

/**
 * Memory that one call uses. It is charged to the session that carries the call, or to the suspended calls of its
 * client.
 */
export class MovingBudget extends MemoryBudget {
  #suspendedBudget: MemoryBudget;
  readonly #parts: Set<Measured> = new Set();

  constructor(suspendedBudget: MemoryBudget) {
    super(suspendedBudget.max, suspendedBudget.setting);
    this.#suspendedBudget = suspendedBudget;
  }

  override get room(): number {
    return this.#suspendedBudget.room;
  }

  override charge(bytes: number): boolean {
    this.held += bytes;
    return this.#suspendedBudget.charge(bytes);
  }

  override release(bytes: number): void {
    this.held -= bytes;
    this.#suspendedBudget.release(bytes);
  }

  override watch(part: Measured): void {
    this.#parts.add(part);
    this.#suspendedBudget.watch(part);
  }

  override unwatch(part: Measured): void {
    this.#parts.delete(part);
    this.#suspendedBudget.unwatch(part);
  }

  override refusal(subject: string, refused?: boolean, bytes?: number): RpcError {
    return this.#suspendedBudget.refusal(subject, refused, bytes);
  }

  /** Moves the complete charge to the budget `next`. Returns true if `next` has room for it. */
  moveTo(next: MemoryBudget): boolean {
    const suspendedBudget = this.#suspendedBudget;
    if (next === suspendedBudget) return true;
    for (const part of this.#parts) {
      suspendedBudget.unwatch(part);
      part.measure();
    }
    suspendedBudget.release(this.held);
    this.#suspendedBudget = next;
    for (const part of this.#parts) next.watch(part);
    return next.charge(this.held);
  }
}
