import { RpcError } from "@quicrpc/core";
import { checkOptions } from "@quicrpc/core/internal";
import type { HttpExtension } from "./extension.js";

/** Options of `docsPage`. */
export interface DocsPageOptions {
  /** Returns the text of RapiDoc's script. The server delivers it, so that the page loads nothing from other hosts. */
  readonly script: () => Promise<string>;
  /** Path of the page on the server. Default: "/docs". */
  readonly path?: string;
  /** Heading of the page. Default: "Services". */
  readonly title?: string;
}

/**
 * Content security policy of the page. It allows only scripts from this server and none inside the page; requests only
 * to this server; and inline styles, which RapiDoc needs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Creates an extension for `createFetchHandler` that serves a page. The page displays `/openapi.json`, for which the
 * option `openApi` is needed, and can make calls. Clients that may read the document may open the page.
 */
export function docsPage(options: DocsPageOptions): HttpExtension {
  checkOptions("docsPage()", options, { path: true, script: true, title: true });
  const { script, path = "/docs", title = "Services" } = options;
  let text: Promise<string> | undefined;
  return {
    path,
    start:
      ({ prefix }) =>
      async ({ request: { method, url } }) => {
        if (method !== "GET" && method !== "HEAD") {
          return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
        }
        const { search } = new URL(url);
        if (search === "") {
          return answer("text/html; charset=utf-8", page(title, `${prefix}${path}`, `${prefix}/openapi.json`));
        }
        if (search !== SCRIPT) throw new RpcError("not_found", "the page has no such part");
        text ??= script();
        return answer("text/javascript; charset=utf-8", await text);
      },
  };
}

/** Query of the URL at which the page's script is served. */
const SCRIPT = "?renderer";

function answer(type: string, body: string): Response {
  const headers = {
    "content-type": type,
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  };
  return new Response(body, { headers });
}

function page(title: string, path: string, document: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<script type="module" src="${escaped(path + SCRIPT)}"></script>
<rapi-doc spec-url="${escaped(document)}" heading-text="${escaped(title)}" render-style="read" load-fonts="false"
  allow-spec-url-load="false" allow-spec-file-load="false" show-header="false"></rapi-doc>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
