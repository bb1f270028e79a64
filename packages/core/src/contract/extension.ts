import type { Metadata } from "../metadata.js";
import type { CallingCode, MethodKind } from "./descriptor.js";

/**
 * Code outside of core that changes how the calls of a method are made and served; the method's descriptor refers to it.
 * This is the side of the caller. The serving side is `BoundMethod.extension`, which a function for routers adds, so
 * that pages do not load it. See docs/extensions.md.
 */
export interface CallExtension {
  /** Name in reflection and in errors, such as "once". */
  readonly name: string;
  /** The kinds of methods that can have it. */
  readonly kinds: readonly MethodKind[];
  /** The function that adds the serving side to a router, with its package, for the error if it was not called. */
  readonly servedBy: string;
  /** Returns the code that makes the method's calls, from the code for methods of its kind. */
  calling(calling: CallingCode): CallingCode;
  /**
   * Called with a call's metadata before `retry` repeats it, if the call may have reached a handler. Without this
   * function, such calls are repeated only if the method is idempotent.
   */
  readonly onRepeat?: ((metadata: Metadata) => void) | undefined;
}
