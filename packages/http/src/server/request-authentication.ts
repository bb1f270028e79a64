import { type Limits, RpcError } from "@quicrpc/core";
import { type UnauthenticatedPeer, type Authentications, type ErrorHook, sourceOf } from "@quicrpc/core/internal";
import { requestAddressOf } from "./caller.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpPeer, HttpServiceOptions } from "./http-options.js";

/** Calls the option `authenticate` for HTTP requests. */
export class RequestAuthentication<Context> {
  private readonly authentications: Pick<Authentications<HttpPeer, Context>, "run">;
  private readonly options: HttpServiceOptions<Context>;
  private readonly limits: Limits;
  private readonly onError: ErrorHook;

  constructor(
    authentications: Pick<Authentications<HttpPeer, Context>, "run">,
    options: HttpServiceOptions<Context>,
    limits: Limits,
    onError: ErrorHook,
  ) {
    this.authentications = authentications;
    this.options = options;
    this.limits = limits;
    this.onError = onError;
  }

  /**
   * Calls `authenticate` for a request and returns its result. Throws the `RpcError` for the client if it refuses.
   * @param method full name of the called method
   */
  async run(exchange: HttpExchange, method: string, timeoutMs: number = Infinity): Promise<Context> {
    try {
      const address = requestAddressOf(exchange, this.options);
      return await this.authentications.run(peerOf(exchange, address, method, timeoutMs, this.limits));
    } catch (error) {
      if (error instanceof RpcError) throw error;
      this.onError(error, { method: "authenticate" });
      throw new RpcError("internal", "the server could not accept the call");
    } finally {
      exchange.onGone = undefined;
    }
  }
}

function peerOf(
  exchange: HttpExchange,
  address: string | undefined,
  method: string,
  timeoutMs: number,
  { maxHandshakeMs }: Limits,
): UnauthenticatedPeer<HttpPeer> {
  const { headers, target: path, request } = exchange;
  return {
    peer: { headers, path, address, method, request },
    source: sourceOf(address ?? ""),
    timeoutMessage: () =>
      timeoutMs <= maxHandshakeMs
        ? "the deadline has passed before the request was authenticated"
        : `the request was not authenticated within ${maxHandshakeMs} ms (limits.maxHandshakeMs)`,
    pending: {
      remainingMs: Math.min(timeoutMs, maxHandshakeMs),
      onGone: (listener) => void (exchange.onGone = listener),
    },
  };
}
