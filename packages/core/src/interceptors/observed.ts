import { RpcError } from "../errors.js";
import type { InterceptedResponse } from "./interceptor.js";

/** Receives the events of a response. */
export interface AnswerObserver {
  readonly onItem?: (item: unknown) => void;
  /** Called once, when the response is complete, has failed, or was left by its consumer (`cancelled`). */
  readonly onOver: (error: RpcError | undefined) => void;
}

/** Returns a response that reports its events to `observer`, for interceptors that act when a call is over. */
export function observeResponse(answer: InterceptedResponse, observer: AnswerObserver): InterceptedResponse {
  if (answer.outputs !== undefined) return withResponseMessages(answer, new ObservedItems(answer.outputs, observer));
  observer.onOver(undefined);
  return answer;
}

/** Returns `answer` with `outputs` in place of its messages. Its metadata still arrives meanwhile. */
export function withResponseMessages(
  answer: InterceptedResponse,
  outputs: AsyncIterable<unknown>,
): InterceptedResponse {
  return {
    get responseMetadata() {
      return answer.responseMetadata;
    },
    get trailers() {
      return answer.trailers;
    },
    output: undefined,
    outputs,
  };
}

/** Items on their way. Not a generator: `return` must reach the producer at once, even while a `next` is pending. */
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
    let over = false;
    const end = (error: RpcError | undefined): void => {
      if (!over) onOver(error);
      over = true;
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
