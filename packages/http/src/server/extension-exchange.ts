import { RpcError } from "@quicrpc/core";
import { countJson, callBytes, decodeWithin, type MemoryBudget } from "@quicrpc/core/internal";
import type { MessageCodec } from "@quicrpc/core/generated";
import type { HttpExchange } from "./exchange.js";
import type { ExtensionRequest } from "./extension.js";
import type { RequestBytes } from "./request-bytes.js";

/** Returns true if a `Request` can be created for a request: the platform does not allow some methods. */
export function canBeRequest({ method }: HttpExchange): boolean {
  return !/^(?:connect|trace|track)$/i.test(method);
}

/** The complete request that an extension receives. It is charged to the client's memory until it is answered. */
export class WholeRequest implements ExtensionRequest {
  readonly request: Request;
  readonly call: ExtensionRequest["call"];
  private readonly body: Uint8Array;
  private readonly budget: MemoryBudget;
  private readonly gone: AbortController = new AbortController();
  private held = 0;

  constructor(exchange: HttpExchange, body: Uint8Array, budget: MemoryBudget, call: ExtensionRequest["call"]) {
    const { method, headers, target, authority } = exchange;
    // The path and query of this URL are exact. The scheme is unknown, so it is always http; the host is the one that
    // the client has sent.
    const named = `http://${authority}`;
    const url = new URL(target, URL.canParse(named) ? named : "http://localhost");
    this.request = new Request(url, { method, headers, signal: this.gone.signal });
    this.body = body;
    this.budget = budget;
    this.call = call;
    this.hold(callBytes(budget, body.length, 0));
  }

  json(): unknown {
    const value = decodeWithin(this.budget, json, this.body, 0, this.body.length);
    this.hold(this.budget.decodedBytes);
    return value;
  }

  /** Called when the client has disconnected, or the request is ended to free memory. */
  abort(reason: RpcError): void {
    this.gone.abort(reason);
  }

  release(): void {
    this.budget.release(this.held);
    this.held = 0;
  }

  private hold(bytes: number): void {
    this.held += bytes;
    this.budget.charge(bytes);
  }
}

const json: MessageCodec<unknown> = {
  encode() {
    throw new TypeError("requests are only read");
  },
  decode(bytes, start, end) {
    countJson(bytes, start, end);
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(start, end)));
    } catch {
      throw new RpcError("invalid_argument", "the request's body is not JSON");
    }
  },
};

/**
 * Sends a `fetch` response. Rejects if its body fails or is too large; if the response has begun, the request is then
 * cut off.
 * @param unsent charged for response data that the client has not read
 */
export async function answerWith(exchange: HttpExchange, response: Response, unsent: RequestBytes): Promise<void> {
  const { status, headers: metadata, body } = response;
  const isStream = metadata.get("content-type")?.startsWith("text/event-stream") === true;
  if (body === null || !isStream) {
    const bytes = body === null ? undefined : new Uint8Array(await response.arrayBuffer());
    unsent.hold(bytes?.length ?? 0);
    exchange.respond({ status, fields: {}, metadata }, bytes);
    return;
  }
  if (exchange.method === "HEAD") {
    await body.cancel();
    exchange.respond({ status, fields: {}, metadata });
    return;
  }
  const answer = exchange.open({ status, fields: {}, metadata });
  const reader = body.getReader();
  const { onGone } = exchange;
  exchange.onGone = () => {
    onGone?.();
    reader.cancel().catch(() => {});
  };
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      answer.write(read.value);
      if (answer.ready) continue;
      unsent.take(read.value.length);
      await new Promise<void>((resolve) => answer.whenReady(resolve));
      unsent.release();
    }
    answer.end();
  } catch (error) {
    // A normal end would tell the client that the response is complete.
    exchange.cutOff(RpcError.from(error, "aborted"));
    throw error;
  } finally {
    exchange.onGone = undefined;
  }
}
