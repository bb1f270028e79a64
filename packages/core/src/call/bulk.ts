import type { AnyMethod } from "../contract/descriptor.js";

/** Bytes of a message from which calls of its method get streams of their own: in a lane the others would wait for it. */
const BULK_BYTES = 64 * 1024;

/** The methods whose last call was large. */
export class BulkMethods {
  private methods: Set<AnyMethod> | undefined;

  has(method: AnyMethod): boolean {
    return this.methods !== undefined && this.methods.has(method);
  }

  /** @param bytes of the larger of a call's two messages */
  note(method: AnyMethod, bytes: number): void {
    if (bytes >= BULK_BYTES) (this.methods ??= new Set()).add(method);
    else if (this.methods !== undefined) this.methods.delete(method);
  }
}
