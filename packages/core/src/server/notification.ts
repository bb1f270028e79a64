import { fullName } from "../contract/descriptor.js";
import type { IncomingContext } from "./context.js";
import type { BoundMethod } from "./router.js";
import { isPromiseLike, type ServedCallSettings } from "./served-call.js";

/**
 * Runs the handler of a notification. The sender does not wait; errors go to `onError`.
 * @param bytes charged if the handler is asynchronous
 */
export function runNotification<Context>(
  { method, handler }: BoundMethod<Context>,
  input: unknown,
  context: IncomingContext<Context>,
  { admission, budget, onError, client }: Pick<ServedCallSettings, "admission" | "budget" | "onError" | "client">,
  bytes: number,
): void {
  const failed = (error: unknown): void => onError(error, { method: fullName(method) });
  try {
    const result = handler(input, context);
    if (!isPromiseLike(result)) return;
    budget.charge(bytes);
    admission.begin(client);
    const end = (): void => {
      budget.release(bytes);
      admission.end(client);
    };
    result.then(end, (error: unknown) => {
      end();
      failed(error);
    });
  } catch (error) {
    failed(error);
  }
}
