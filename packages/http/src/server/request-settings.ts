import { createCaller, type Limits, RpcError, type TypedCaller } from "@quicrpc/core";
import type { Admission, ErrorHook, MemoryBudget, OnceSettings, ServedCallSettings } from "@quicrpc/core/transport";

/** Handlers that are called over HTTP have nobody to call back. */
export const nobody: TypedCaller = createCaller(() => {
  throw new RpcError("unimplemented", "the caller came over HTTP and cannot be called back");
});

/**
 * Settings of one request's call, and of its context. They are no object literal, and neither is whatever else lives as long as a request: V8 allocates
 * literals of which many have outlived a minor collection among old objects, and with them all that they refer to, until the next full one.
 */
export class RequestSettings implements ServedCallSettings {
  readonly session: TypedCaller = nobody;
  /** Known once the client is authenticated. */
  connection: unknown = undefined;
  /** Whose share of all calls it takes; undefined where clients are not told apart. */
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
