import { RpcError } from "@quicrpc/core";
import { checkOptions } from "@quicrpc/core/transport";
import type { HttpExtension } from "@quicrpc/http";
import { originsOf, type PageFile, type PageRoute, pageDocument, pageFile } from "./assets.js";

/** Options of `studio`. */
export interface StudioOptions {
  /** URL path of the page. Default: "/studio". */
  readonly path?: string;
  /** Heading of the page. Default "Services". */
  readonly title?: string;
  /**
   * URL at which pages can reach this server with `connect`, such as "https://example.org:4433". Calls of every kind
   * then use WebTransport or a WebSocket. Default: pages send HTTP requests to the server that served them.
   */
  readonly connect?: string;
}

/**
 * Creates an HTTP extension that serves a page for calling the server's services. Pass it to `extensions` of `serve` or
 * `createFetchHandler`. It requires `createReflection` of `@quicrpc/services`. Clients that may call
 * `quicrpc.v1.Reflection/describe` may open the page. The page does not permit calls that its user could not make
 * otherwise.
 */
export function studio(options: StudioOptions = {}): HttpExtension {
  checkOptions("studio()", options, { connect: true, path: true, title: true });
  const { path = "/studio", title = "Services", connect } = options;
  return {
    path,
    start: ({ prefix }) => {
      const base = `${prefix}${path}`;
      const route: PageRoute = connect === undefined ? { via: "http", prefix } : { via: "connect", url: connect };
      const settings = {
        title,
        route,
        script: `${base}?app.js`,
        style: `${base}?app.css`,
        connectTo: originsOf(connect),
      };
      return async ({ request: { method, url } }) => {
        if (method !== "GET" && method !== "HEAD") {
          return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
        }
        switch (new URL(url).search) {
          case "":
            return respond(pageDocument(settings));
          case "?app.js":
            return respond(await pageFile("app.js"));
          case "?app.css":
            return respond(await pageFile("app.css"));
          default:
            throw new RpcError("not_found", "the page has no such part");
        }
      };
    },
  };
}

function respond({ type, body, headers }: PageFile): Response {
  return new Response(body, { headers: { ...headers, "content-type": type } });
}
