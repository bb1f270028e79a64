import { readFile } from "node:fs/promises";

/** How a page reaches the server that it shows. */
export type PageRoute =
  /**
   * Calls go over a WebSocket at the path "session" to the process that served the page. That process carries the
   * calls.
   */
  | { readonly via: "process" }
  /** The page connects to the server directly, with `connect` of `@quicrpc/browser`. */
  | {
      readonly via: "connect";
      readonly url: string;
      /** SHA-256 hashes of trusted certificates, in hexadecimal. */
      readonly certificateHashes?: readonly string[];
    }
  /** Calls are HTTP requests to the page's own server. Paths of methods begin with `prefix`. */
  | { readonly via: "http"; readonly prefix: string };

export interface PageFile {
  readonly type: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Options of `quicrpc call` with which a call copied from the page trusts the server and sends credentials. */
export interface Trust {
  /** True if this machine's development certificate is trusted. */
  readonly dev?: boolean;
  /** SHA-256 of the trusted certificate, in hexadecimal. */
  readonly hash?: string;
  /** Path of the file with the trusted root certificates. */
  readonly ca?: string;
  /** True if an https:// URL is called over plain HTTP. */
  readonly plainHttp?: boolean;
  /** Name of the environment variable with the credentials. Pages never receive its value. */
  readonly credentialsFrom?: string;
}

/** Settings that the server writes into a page. */
export interface PageSettings {
  readonly title: string;
  readonly route: PageRoute;
  /** Source of the service descriptions: "process" for the process that serves the page. Default: the server. */
  readonly describedBy?: "process";
  readonly trust?: Trust;
  /** URL of the page's script; `style` is the URL of the style sheet. */
  readonly script: string;
  readonly style: string;
  /** Origins to which the page may connect in addition to its own. */
  readonly connectTo?: readonly string[];
}

/**
 * Returns the origins to which a page connects: the URL's own origin, and the corresponding WebSocket origin. Throws
 * `TypeError` for a URL that pages cannot use.
 */
export function originsOf(connect: string | undefined): readonly string[] {
  if (connect === undefined) return [];
  const { protocol, host } = new URL(connect);
  if (protocol !== "https:") throw new TypeError(`pages connect to https://, not to ${protocol}//`);
  return [`https://${host}`, `wss://${host}`];
}

/**
 * Returns the page's HTML document. The nonce permits the `<style>` element that the editor creates (Content Security
 * Policy).
 */
export function pageDocument({
  title,
  route,
  describedBy,
  trust,
  script,
  style,
  connectTo = [],
}: PageSettings): PageFile {
  const nonce = crypto.randomUUID();
  const settings = JSON.stringify({ title, route, describedBy, trust, nonce });
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src data:",
    `connect-src ${["'self'", ...connectTo].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="quicrpc-studio" content="${escaped(settings)}">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escaped(style)}">
<script type="module" src="${escaped(script)}"></script>
<body></body>
</html>
`;
  return { type: "text/html; charset=utf-8", body, headers: { ...COMMON, "content-security-policy": policy } };
}

export async function pageFile(name: "app.js" | "app.css"): Promise<PageFile> {
  const body = await readFile(new URL(`app/${name}`, import.meta.url), "utf8");
  const type = name === "app.js" ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8";
  return { type, body, headers: COMMON };
}

const COMMON = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
} as const;

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
