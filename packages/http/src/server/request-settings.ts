import { createCaller, type Limits, RpcError, type TypedCaller } from "@quicrpc/core";
import type { Admission, ErrorHook, MemoryBudget, OnceSettings, ServedCallSettings } from "@quicrpc/core/transport";

/** Caller for handlers over HTTP, which cannot call their client back. */
export const nobody: TypedCaller = createCaller(() => {
  throw new RpcError("unimplemented", "the caller came over HTTP and cannot be called back");
});

/**
 * Settings of one request's call and of its context. This is a class, like other objects that live as long as a
 * request: V8 allocates object literals among old objects if many of them have survived a minor collection, which keeps
 * everything that they refer to alive until the next full collection.
 */
export class RequestSettings implements ServedCallSettings {
  readonly session: TypedCaller = nobody;
  /** Known once the client is authenticated. */
  connection: unknown = undefined;
  /** Client whose share of all calls it uses; undefined if clients are not distinguished. */
  client: string | undefined = undefined;
  readonly limits: Limits;
  readonly onError: ErrorHook;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
  readonly once: OnceSettings | undefined;

  constructor(
    limits: Limits,
    onError: ErrorHook,
    admission: Admission,
    budget: MemoryBudget,
    once: OnceSettings | undefined,
  ) {
    this.limits = limits;
    this.onError = onError;
    this.admission = admission;
    this.budget = budget;
    this.once = once;
  }
}
