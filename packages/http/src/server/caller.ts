import { createCaller, type Limits, RpcError, type TypedCaller } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  type ErrorHook,
  fullName,
  IncomingContext,
  type OnceSettings,
  principalOf,
  sourceOf,
} from "@quicrpc/core/internal";
import { readHeaders } from "../protocol/headers.js";
import type { Requester } from "./blobs/uploads.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpServiceOptions } from "./http-options.js";

/** Caller that handlers over HTTP receive: every call on it fails, because a server cannot call a client over HTTP. */
export const nobody: TypedCaller = createCaller(() => {
  throw new RpcError("unimplemented", "the caller came over HTTP and cannot be called back");
});

export interface CallerSettings {
  readonly options: Pick<HttpServiceOptions<never>, "principal" | "once" | "host">;
  readonly limits: Limits;
  readonly once: OnceSettings | undefined;
  readonly onError: ErrorHook;
}

/** Returns the address of a request's client; undefined if unknown. */
export function requestAddressOf(
  { request, peer }: HttpExchange,
  { host }: CallerSettings["options"],
): string | undefined {
  return host?.addressOf(request) ?? peer;
}

/** Returns the key of a client that is known by its network alone. */
export function networkKeyOf(address: string | undefined): string {
  // The prefix distinguishes addresses from principals, whose names are arbitrary.
  return `quicrpc http ${sourceOf(address ?? "")}`;
}

export interface RequestCaller {
  /**
   * Key under which the client's calls are counted: its principal, otherwise its network; undefined if neither is
   * known.
   */
  readonly client: string | undefined;
  /** Returns the owner of the uploads and downloads in the request. Throws if its principal cannot be determined. */
  readonly requester: () => Requester;
}

/** Returns the identity of the client of a request that `authenticate` has accepted. */
export function callerOf(
  settings: CallerSettings,
  exchange: HttpExchange,
  method: AnyMethod,
  connection: unknown,
): RequestCaller {
  const { options } = settings;
  const principalBy = options.principal ?? options.once?.principal;
  const address = requestAddressOf(exchange, options);
  const byAddress = networkKeyOf(address);
  const client = address && byAddress;
  if (principalBy === undefined && typeof connection !== "string")
    return { client, requester: () => ({ principal: "", counted: byAddress }) };
  try {
    const context = contextOf(settings, exchange, method, connection);
    const principal = principalOf(principalBy, context, `whose ${fullName(method)} is`);
    const counted = principal === "" ? byAddress : principal;
    return { client: counted, requester: () => ({ principal, counted }) };
  } catch (error) {
    // If the principal cannot be determined, only calls that need one fail.
    const requester = (): never => {
      throw error;
    };
    return { client, requester };
  }
}

/** Returns the context of a request that is not a call, for interceptors. */
export function contextOf(
  { limits, once, onError }: CallerSettings,
  { headers }: HttpExchange,
  method: AnyMethod,
  connection: unknown,
): IncomingContext<unknown> {
  const settings = { session: nobody, connection, limits, once, onError };
  return new IncomingContext(method, undefined, () => readHeaders(headers), settings);
}
