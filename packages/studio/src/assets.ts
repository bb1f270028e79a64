import { readFile } from "node:fs/promises";

/** How a page reaches the server that it shows. */
export type PageRoute =
  /** By the process that served the page, which carries calls over a WebSocket at "session". */
  | { readonly via: "process" }
  /** By itself, with `connect` of `@quicrpc/browser`. */
  | {
      readonly via: "connect";
      readonly url: string;
      /** Hashes of certificates to trust, in hex. */
      readonly certificateHashes?: readonly string[];
    }
  /** By requests over HTTP, to methods below this path of the page's own server. */
  | { readonly via: "http"; readonly prefix: string };

/** A file of the page, to be served. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How the server is trusted, and who calls it, as `quicrpc call` has it: for calls that are copied out of the page. */
export interface Trust {
  /** This machine's development certificate. */
  readonly dev?: boolean;
  /** The certificate with this SHA-256, in hex. */
  readonly hash?: string;
  /** The file of the roots. */
  readonly ca?: string;
  /** An https:// URL is called by plain HTTP. */
  readonly plainHttp?: boolean;
  /** The environment variable that has the credentials, which are told to no page. */
  readonly credentialsFrom?: string;
}

/** Settings of a page. */
export interface PageSettings {
  readonly title: string;
  readonly route: PageRoute;
  /** Tells which services the server has. Default: the server. */
  readonly describedBy?: "process";
  readonly trust?: Trust;
  /** URLs of script and style, as the page names them. */
  readonly script: string;
  readonly style: string;
  /** Origins, beside its own, that the page may connect to. */
  readonly connectTo?: readonly string[];
}

/** The origins that a page connects to: the URL's, and that of the WebSocket beside it. Throws `TypeError` for a URL that is no page's. */
export function originsOf(connect: string | undefined): readonly string[] {
  if (connect === undefined) return [];
  const { protocol, host } = new URL(connect);
  if (protocol !== "https:") throw new TypeError(`pages connect to https://, not to ${protocol}//`);
  return [`https://${host}`, `wss://${host}`];
}

/** Makes the document. The nonce is for the rules that the editor writes into a `<style>` of its own. */
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

/** Reads the page's script, or its style. */
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
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
