import type { AnyMethod } from "../contract/descriptor.js";
import type { AnyAnswer } from "./base-caller.js";
import type { DuplexStream } from "./caller.js";
import type { ItemStream } from "./items/item-stream.js";

/** Calls `onOver` when a call is over: with its error, or undefined if it succeeded. Returns the answer to use instead of the given one. */
export function whenOver(method: AnyMethod, answer: AnyAnswer, onOver: (error: unknown) => void): AnyAnswer {
  if (method.kind === "server_stream") {
    (answer as ItemStream<unknown>).whenOver(onOver);
    return answer;
  }
  if (method.kind === "duplex") {
    (answer as DuplexStream<unknown, unknown>).readable.whenOver(onOver);
    return answer;
  }
  return (answer as Promise<unknown>).then(
    (result) => {
      onOver(undefined);
      return result;
    },
    (error: unknown) => {
      onOver(error);
      throw error;
    },
  );
}
