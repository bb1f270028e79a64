import type { Limits, Metadata } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  type ErrorHook,
  fullName,
  IncomingContext,
  type OnceSettings,
  principalOf,
  sourceOf,
} from "@quicrpc/core/transport";
import { readHeaders } from "../protocol/headers.js";
import type { Requester } from "./blobs/uploads.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpServiceOptions } from "./http-options.js";
import { nobody } from "./request-settings.js";

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
  { options, limits, once, onError }: CallerSettings,
  exchange: HttpExchange,
  method: AnyMethod,
  connection: unknown,
): RequestCaller {
  const principalBy = options.principal ?? options.once?.principal;
  const address = requestAddressOf(exchange, options);
  // A prefix that keeps addresses apart from principals, which may have any name.
  const byAddress = `quicrpc http ${sourceOf(address ?? "")}`;
  const client = address && byAddress;
  if (principalBy === undefined && typeof connection !== "string")
    return { client, requester: () => ({ principal: "", counted: byAddress }) };
  const metadata = (): Metadata => readHeaders(exchange.headers);
  const settings = { session: nobody, connection, limits, once, onError };
  const context = new IncomingContext<unknown>(method, undefined, metadata, settings);
  try {
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
