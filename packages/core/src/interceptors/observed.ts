import { RpcError } from "../errors.js";
import type { InterceptedResponse } from "./interceptor.js";

export interface AnswerObserver {
  readonly onItem?: (item: unknown) => void;
  /** Called once, when the response is complete (undefined), has failed, or its consumer has stopped (`cancelled`). */
  readonly onOver: (error: RpcError | undefined) => void;
}

/** Returns a response that calls the callbacks of `observer`, for interceptors that act when a call has ended. */
export function observeResponse(response: InterceptedResponse, observer: AnswerObserver): InterceptedResponse {
  if (response.outputs !== undefined)
    return withResponseMessages(response, new ObservedItems(response.outputs, observer));
  observer.onOver(undefined);
  return response;
}

/** Returns a copy of `response` with the items `outputs`. Metadata and trailers that arrive later are still visible. */
export function withResponseMessages(
  response: InterceptedResponse,
  outputs: AsyncIterable<unknown>,
): InterceptedResponse {
  return {
    get responseMetadata() {
      return response.responseMetadata;
    },
    get trailers() {
      return response.trailers;
    },
    output: undefined,
    outputs,
  };
}

/**
 * Items of a response that report their events. It is not a generator, because `return` must reach the producer at
 * once, even while a `next` is pending.
 */
class ObservedItems implements AsyncIterable<unknown> {
  private readonly items: AsyncIterable<unknown>;
  private readonly observer: AnswerObserver;

  constructor(items: AsyncIterable<unknown>, observer: AnswerObserver) {
    this.items = items;
    this.observer = observer;
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    const iterator = this.items[Symbol.asyncIterator]();
    const { onItem, onOver } = this.observer;
    let isOver = false;
    const end = (error: RpcError | undefined): void => {
      if (!isOver) onOver(error);
      isOver = true;
    };
    return {
      next: async () => {
        try {
          const next = await iterator.next();
          if (next.done === true) end(undefined);
          else onItem?.(next.value);
          return next;
        } catch (error) {
          end(RpcError.from(error));
          throw error;
        }
      },
      return: async () => {
        end(new RpcError("cancelled", "the consumer wants no more items"));
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
