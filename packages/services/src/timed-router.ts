import type { CallContext, Router } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type BoundMethod, measuredOutput, Received, streamsInput } from "@quicrpc/core/internal";

/**
 * Durations of one call at its callee, in milliseconds. If the caller streams, or messages are JSON over HTTP, only the
 * handler's is known.
 */
export interface ServedTimings {
  /** Time to decode and validate the request. */
  readonly decodeMs: number | undefined;
  /** Time from then until the handler started: the wait for a free place. */
  readonly queueMs: number | undefined;
  /** Time until the handler returned or its promise settled; for a handler that streams, until it returned the stream. */
  readonly handlerMs: number;
}

/**
 * Returns a router that reports the durations of each call when its handler is over. It must be the outermost wrapper:
 * `timedRouter(interceptRouter(router, interceptors), show)`. An error thrown by `onTimings` fails the call.
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
