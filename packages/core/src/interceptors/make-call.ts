import type { Caller } from "../call/base-caller.js";
import type { CallOptions } from "../call/options.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { Metadata } from "../metadata.js";
import type { InterceptedResponse, InterceptedCall } from "./interceptor.js";

/**
 * Makes a call on `caller` after all interceptors have run.
 *
 * @param onRefused called with the error if an item of a duplex call cannot be sent
 */
export async function makeCall(
  caller: Caller,
  call: InterceptedCall,
  onRefused?: (error: unknown) => void,
): Promise<InterceptedResponse> {
  const { method, input, inputs = [] } = call;
  const response = new Heard();
  switch (method.kind) {
    case "unary":
      response.output = await caller.start(method, input, response.listening(call));
      return response;
    case "client_stream":
      response.output = await caller.start(method, inputs, response.listening(call));
      return response;
    case "notify":
      await caller.start(method, input, callOptions(call));
      return response;
    case "server_stream":
      return answerOf(caller.start(method, input, callOptions(call)));
    case "duplex": {
      const { readable, writable } = caller.start(method, undefined, callOptions(call));
      void pour(inputs as AsyncIterable<unknown>, writable, onRefused);
      return answerOf(readable);
    }
  }
}

/** The response of a call. Its metadata, trailers and output are set when they arrive. */
class Heard implements InterceptedResponse {
  responseMetadata: Metadata = new Metadata();
  trailers: Metadata = new Metadata();
  output: unknown = undefined;
  readonly outputs: undefined = undefined;

  /** Returns the options of the call, with callbacks that also store metadata and trailers in this response. */
  listening(call: InterceptedCall): CallOptions {
    const options = callOptions(call);
    return {
      ...options,
      onResponseMetadata: (metadata) => {
        this.responseMetadata = metadata;
        options.onResponseMetadata?.(metadata);
      },
      onTrailers: (trailers) => {
        this.trailers = trailers;
        options.onTrailers?.(trailers);
      },
    };
  }
}

function callOptions({ options, metadata, deadline, signal }: InterceptedCall): CallOptions {
  return { ...options, metadata, timeoutMs: undefined, deadline, signal };
}

function answerOf(stream: ItemStream<unknown>): InterceptedResponse {
  return {
    get responseMetadata() {
      return stream.responseMetadata;
    },
    get trailers() {
      return stream.trailers;
    },
    output: undefined,
    outputs: stream,
  };
}

/** Writes all items to `writable`, and stops their producer when the call has ended. Never rejects. */
async function pour(
  items: AsyncIterable<unknown>,
  writable: WritableStream<unknown>,
  onRefused: ((error: unknown) => void) | undefined,
): Promise<void> {
  const writer = writable.getWriter();
  const iterator = items[Symbol.asyncIterator]();
  const leaveStream = (): void => {
    Promise.resolve(iterator.return?.()).catch(() => {});
  };
  writer.closed.catch(leaveStream);
  try {
    for (;;) {
      await writer.ready;
      const { done, value } = await iterator.next();
      if (done === true) break;
      try {
        await writer.write(value);
      } catch (error) {
        onRefused?.(error);
        throw error;
      }
    }
    await writer.close();
  } catch (error) {
    writer.abort(error).catch(() => {});
  }
}
