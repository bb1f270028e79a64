import { type Interceptor, interceptRouter } from "@quicrpc/core";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import type { DescribableRouter } from "../openapi/of-routers.js";
import type { OpenApiOptions } from "../openapi/source.js";
import { type HttpExchange, isGet, splitTarget } from "./exchange.js";
import type { RequestBytes } from "./request-bytes.js";
import type { Bound } from "./routes.js";

/** The method that describes services. Clients that may call it may read the OpenAPI document. */
const DESCRIBE = defineMethod({ name: "quicrpc.v1.Reflection", id: 35473 }, "unary", "describe", { id: 2 });

/** Returns the method that describes services, with `interceptors`, for a server that does not serve reflection. */
export function describeBehind(interceptors: readonly Interceptor[]): Bound<unknown> {
  const router = createRouter({ describe: DESCRIBE }, { describe: () => {} });
  return interceptRouter(router, interceptors).methods[0] as Bound<unknown>;
}

/**
 * Serves the OpenAPI document of a server's services at `/openapi.json`. The document is created at the first request.
 */
export class OpenApiPage {
  readonly path: string;
  private readonly make: () => Promise<string>;
  private text: Promise<string> | undefined = undefined;

  /** @param prefix prefix of the paths of methods */
  constructor(router: DescribableRouter, prefix: string, options: OpenApiOptions) {
    this.path = `${prefix}/openapi.json`;
    this.make = async () => {
      // This code is loaded only when the document is requested.
      const { openApiOf } = await import("../openapi/of-routers.js");
      return JSON.stringify(await openApiOf([router], { servers: [{ url: prefix || "/" }], ...options }));
    };
  }

  isAskedFor(exchange: HttpExchange): boolean {
    return isGet(exchange) && splitTarget(exchange.target).path === this.path;
  }

  /**
   * Sends the OpenAPI document.
   * @param unsent charged for response data that the client has not read
   */
  async answer(exchange: HttpExchange, unsent: RequestBytes): Promise<void> {
    this.text ??= this.make();
    const text = await this.text;
    unsent.hold(text.length);
    const fields = { "content-type": "application/json", "cache-control": "no-cache" };
    exchange.respond({ status: 200, fields }, text);
  }
}
