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

/** Caller for handlers over HTTP, which cannot call their client back. */
export const nobody: TypedCaller = createCaller(() => {
  throw new RpcError("unimplemented", "the caller came over HTTP and cannot be called back");
});

/** Settings that identify the callers of a service. */
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

/** The caller of a request. */
export interface RequestCaller {
  /** Client whose share of all calls it uses: its principal, otherwise its network; undefined if neither is known. */
  readonly client: string | undefined;
  /** Returns the requester of its resources. Throws if its principal cannot be determined. */
  readonly requester: () => Requester;
}

/** Returns the caller of a request that `authenticate` has accepted. */
export function callerOf(
  settings: CallerSettings,
  exchange: HttpExchange,
  method: AnyMethod,
  connection: unknown,
): RequestCaller {
  const { options } = settings;
  const principalBy = options.principal ?? options.once?.principal;
  const address = requestAddressOf(exchange, options);
  // A prefix that keeps addresses apart from principals, which may have any name.
  const byAddress = `quicrpc http ${sourceOf(address ?? "")}`;
  const client = address && byAddress;
  if (principalBy === undefined && typeof connection !== "string")
    return { client, requester: () => ({ principal: "", counted: byAddress }) };
  try {
    const context = contextOf(settings, exchange, method, connection);
    const principal = principalOf(principalBy, context, `whose ${fullName(method)} is`);
    const counted = principal === "" ? byAddress : principal;
    return { client: counted, requester: () => ({ principal, counted }) };
  } catch (error) {
    // If the principal cannot be determined, calls that need one fail.
    const requester = (): never => {
      throw error;
    };
    return { client, requester };
  }
}

/** Returns a context for a request that is not a call. */
export function contextOf(
  { limits, once, onError }: CallerSettings,
  { headers }: HttpExchange,
  method: AnyMethod,
  connection: unknown,
): IncomingContext<unknown> {
  const settings = { session: nobody, connection, limits, once, onError };
  return new IncomingContext(method, undefined, () => readHeaders(headers), settings);
}
