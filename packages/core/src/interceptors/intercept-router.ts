import { streamsInput, streamsOutput } from "../call/messages/payload.js";
import { itemQueue, ItemStream } from "../call/items/item-stream.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { Metadata } from "../metadata.js";
import type { CallContext } from "../server/context.js";
import type { BoundMethod, Router } from "../server/router.js";
import { compose, type InterceptedResponse, type InterceptedCall, type Interceptor } from "./interceptor.js";
import { SourceItems } from "./items.js";

/** Returns a copy of `router` whose calls pass through `interceptors`; the first is the outermost. */
export function interceptRouter<Context>(
  router: Router<Context>,
  interceptors: readonly Interceptor[],
): Router<Context> {
  if (interceptors.length === 0) return router;
  return { methods: router.methods.map((bound) => (bound.carriesCalls ? bound : intercept(bound, interceptors))) };
}

function intercept<Context>(
  { method, handler, extension, authorize }: BoundMethod<Context>,
  interceptors: readonly Interceptor[],
): BoundMethod<Context> {
  const serve = async (call: InterceptedCall): Promise<InterceptedResponse> => {
    const context = call.context as CallContext<Context>;
    const result = await handler(call.inputs === undefined ? call.input : itemStream(call.inputs), context);
    const { responseMetadata, trailers } = context;
    const response = { responseMetadata, trailers };
    return streamsOutput(method)
      ? { ...response, output: undefined, outputs: new SourceItems(result) }
      : { ...response, output: result, outputs: undefined };
  };
  const next = compose(interceptors, serve);
  const deciding = interceptors.filter(({ checksPermission }) => checksPermission !== false);
  return {
    method,
    handler: async (input: unknown, context) => {
      const { outputs, output } = await next(incomingCall(method, context, input, false));
      return outputs ?? output;
    },
    extension,
    authorize:
      deciding.length === 0
        ? authorize
        : async (context) => {
            let hasRun = false;
            const decide = compose(deciding, async ({ context: callContext }) => {
              await authorize?.(callContext as CallContext<Context>);
              hasRun = true;
              return {
                responseMetadata: new Metadata(),
                trailers: new Metadata(),
                output: undefined,
                outputs: undefined,
              };
            });
            await decide(incomingCall(method, context, undefined, true));
            if (!hasRun) throw new RpcError("permission_denied", `an interceptor has refused ${fullName(method)}`);
          },
  };
}

function incomingCall(
  method: AnyMethod,
  context: CallContext,
  input: unknown,
  isPermissionCheck: boolean,
): InterceptedCall {
  const streams = streamsInput(method);
  return {
    side: "callee",
    method,
    get metadata() {
      return context.metadata;
    },
    deadline: context.deadline,
    isPermissionCheck,
    get signal() {
      return context.signal;
    },
    input: streams ? undefined : input,
    inputs: streams ? (input as ItemStream<unknown>) : undefined,
    options: undefined,
    context,
  };
}

/**
 * Returns the stream of input items for a handler: the original stream, or a new one if an interceptor has replaced the
 * items.
 */
function itemStream(items: AsyncIterable<unknown>): ItemStream<unknown> {
  if (items instanceof ItemStream) return items;
  const queue = itemQueue<unknown>({ onTaken() {}, onAbandoned: () => leaveQueue() });
  const leaveQueue = queue.follow(items, undefined);
  return queue.stream;
}
