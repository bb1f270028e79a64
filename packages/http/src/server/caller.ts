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

/** Settings of a service by which callers are told apart. */
export interface CallerSettings {
  readonly options: Pick<HttpServiceOptions<never>, "principal" | "once" | "host">;
  readonly limits: Limits;
  readonly once: OnceSettings | undefined;
  readonly onError: ErrorHook;
}

/** The address that a request comes from; undefined where it is not known. */
export function addressOf({ request, peer }: HttpExchange, { host }: CallerSettings["options"]): string | undefined {
  return host?.addressOf(request) ?? peer;
}

/** Who makes a request, once `authenticate` has let it in. */
export class Caller {
  private readonly settings: CallerSettings;
  private readonly exchange: HttpExchange;
  private readonly method: AnyMethod;
  private readonly connection: unknown;
  private known: Requester | undefined = undefined;

  constructor(settings: CallerSettings, exchange: HttpExchange, method: AnyMethod, connection: unknown) {
    this.settings = settings;
    this.exchange = exchange;
    this.method = method;
    this.connection = connection;
  }

  /** Whose the request is. Throws where its principal cannot be told. */
  get requester(): Requester {
    return (this.known ??= this.find());
  }

  /** Whose share of all calls it takes: its principal's, else that of the network that it comes from; undefined where neither is known. */
  get client(): string | undefined {
    try {
      if (this.isToldApart) return this.requester.counted;
    } catch {
      // A principal that is not known fails the calls that need one.
    }
    const address = this.address;
    return address && byAddress(address);
  }

  private get address(): string | undefined {
    return addressOf(this.exchange, this.settings.options);
  }

  /** Whether callers have principals. */
  private get isToldApart(): boolean {
    return this.principal !== undefined || typeof this.connection === "string";
  }

  private get principal(): CallerSettings["options"]["principal"] {
    const { principal, once } = this.settings.options;
    return principal ?? once?.principal;
  }

  private find(): Requester {
    const { exchange, method, connection } = this;
    const { limits, once, onError } = this.settings;
    const metadata = (): Metadata => readHeaders(exchange.headers);
    const settings = { session: nobody, connection, limits, once, onError };
    const context = new IncomingContext<unknown>(method, undefined, metadata, settings);
    const principal = this.isToldApart ? principalOf(this.principal, context, `whose ${fullName(method)} is`) : "";
    return { principal, counted: principal === "" ? byAddress(this.address ?? "") : principal };
  }
}

/** Returns what counts for callers at an address: apart from principals, which may have any name. */
function byAddress(address: string): string {
  return `quicrpc http ${sourceOf(address)}`;
}
