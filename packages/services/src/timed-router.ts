import type { CallContext, Router } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type BoundMethod, measuredOutput, Received, streamsInput } from "@quicrpc/core/internal";

/**
 * Durations of one call on its server, in milliseconds. If the caller streams, or messages are JSON over HTTP, only the
 * handler's duration is known.
 */
export interface ServedTimings {
  /** Milliseconds for decoding and validating the request. Undefined if unknown. */
  readonly decodeMs: number | undefined;
  /**
   * Milliseconds between the end of decoding and the start of the handler, in which the call waits for a concurrency
   * limit. Undefined if unknown.
   */
  readonly queueMs: number | undefined;
  /**
   * Milliseconds until the handler returned or its promise settled. For a handler that streams, until it returned the
   * stream.
   */
  readonly handlerMs: number;
}

/**
 * Returns a router that calls `onTimings` with the durations of each call after its handler has ended. It must be the
 * outermost wrapper: `timedRouter(interceptRouter(router, interceptors), show)`. An error thrown by `onTimings` fails
 * the call.
 */
export function timedRouter<Context>(
  router: Router<Context>,
  onTimings: (timings: ServedTimings, context: CallContext<Context>) => void,
): Router<Context> {
  return { methods: router.methods.map((bound) => timed(bound, onTimings)) };
}

function timed<Context>(
  { method, handler, extension, authorize }: BoundMethod<Context>,
  onTimings: (timings: ServedTimings, context: CallContext<Context>) => void,
): BoundMethod<Context> {
  return {
    method: measuredInput(method),
    extension,
    authorize,
    handler: (input: unknown, context) => {
      const entered = performance.now();
      const box = input instanceof Received ? input : undefined;
      const report = (): void => {
        const decodeMs = box && box.decoded - box.arrived;
        onTimings({ decodeMs, queueMs: box && entered - box.decoded, handlerMs: performance.now() - entered }, context);
      };
      let result: unknown;
      try {
        result = handler(box === undefined ? input : box.value, context);
      } catch (error) {
        report();
        throw error;
      }
      if (result instanceof Promise) return result.finally(report);
      report();
      return result;
    },
  };
}

function measuredInput(method: AnyMethod): AnyMethod {
  const { input } = method;
  if (input === undefined || input.bytes === true || streamsInput(method)) return method;
  return { ...method, input: measuredOutput(input) } as AnyMethod;
}
