import type { AnyMethod } from "../../contract/descriptor.js";
import type { IncomingContext } from "../context.js";
import { type OnceHandler, OnceService } from "./once-service.js";

/**
 * Wraps `handler` so that it is entered at most once for each key. Interceptors run outside of it: their refusals are
 * not remembered.
 */
export function onceHandler(method: AnyMethod, handler: OnceHandler, own: OnceService): OnceHandler {
  return (input, given) => {
    const context = given as IncomingContext<unknown>;
    const { onceSettings } = context;
    const service = onceSettings === undefined ? own : OnceService.of(onceSettings.options, onceSettings.since);
    return service.serve(method, handler, input, context);
  };
}
