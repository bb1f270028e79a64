import type { AnyMethod } from "../../contract/descriptor.js";
import { streamsOutput } from "../../contract/directions.js";
import type { IncomingContext } from "../context.js";
import type { BoundMethod } from "../router.js";

/** The handler of a resumable method, which is not entered again when a call is resumed. */
export function resumableHandler(method: AnyMethod, handler: BoundMethod["handler"]): BoundMethod["handler"] {
  return (input, context) => {
    if (!(context as IncomingContext<unknown>).resuming) return handler(input, context);
    return streamsOutput(method) ? [] : undefined;
  };
}
