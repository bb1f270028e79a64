import type { Router } from "@quicrpc/core";
import type { BoundMethod, IncomingContext, ServedExtension } from "@quicrpc/core/internal";
import { inputFingerprint } from "./record.js";
import { fingerprints, OnceService } from "./once-service.js";
import { serveAttempt } from "./serve-attempt.js";
import { ResumableCalls } from "./suspended-calls.js";

const ONCE: ServedExtension = {
  onMessage(context, encoding, { bytes, position, end }) {
    fingerprints.set(context, inputFingerprint(encoding, bytes, position, end));
  },
};

/**
 * Adds support for `once` and `resumable` methods to a router of generated code. If a `once` method has no store of its
 * own, the router stores the results of its calls in memory.
 */
export function durableRouter<Context>({ methods }: Router<Context>): Router<Context> {
  let defaultService: OnceService | undefined;
  const resumables = new ResumableCalls();
  const resumable: ServedExtension = { serveAttempt: (attempt) => serveAttempt(attempt, resumables) };
  return {
    methods: methods.map((bound) => {
      const { extension } = bound.method;
      if (extension?.name === "resumable") return { ...bound, extension: resumable };
      return extension?.name === "once" ? onceMethod(bound, (defaultService ??= new OnceService())) : bound;
    }),
  };
}

/**
 * Wraps the handler of a `once` method so that it runs at most once for each key. Interceptors run before this wrapper:
 * if they refuse a call, the refusal is not stored.
 */
function onceMethod<Context>(bound: BoundMethod<Context>, defaultService: OnceService): BoundMethod<Context> {
  const { method } = bound;
  const handler: BoundMethod["handler"] = (input, incoming) => {
    const context = incoming as IncomingContext<unknown>;
    const { onceSettings } = context;
    const service = onceSettings === undefined ? defaultService : OnceService.of(onceSettings);
    return service.serve(method, bound.handler as BoundMethod["handler"], input, context);
  };
  return { ...bound, handler, extension: ONCE };
}
