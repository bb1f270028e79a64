import { RpcError } from "../errors.js";
import type { InterceptedAnswer } from "./interceptor.js";

/** Receives the events of an answer. */
export interface AnswerObserver {
  readonly onItem?: (item: unknown) => void;
  /** The answer is complete: well, with an error, or because the consumer left (`cancelled`). Called once. */
  readonly onOver: (error: RpcError | undefined) => void;
}

/** Passes on `answer`, whose events `observer` receives; for interceptors that care when a call is over. */
export function observed(answer: InterceptedAnswer, observer: AnswerObserver): InterceptedAnswer {
  if (answer.outputs !== undefined) return withOutputs(answer, new ObservedItems(answer.outputs, observer));
  observer.onOver(undefined);
  return answer;
}

/** `answer` with other messages; its metadata still arrives meanwhile. */
export function withOutputs(answer: InterceptedAnswer, outputs: AsyncIterable<unknown>): InterceptedAnswer {
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

/** Items on their way. No generator: leaving must reach the producer at once, even while a `next` is pending. */
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
