import { createServer, type Server } from "node:http";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Information that the page needs to connect, at /server.json. */
export interface ServerInfo {
  readonly url: string;
  /** SHA-256 of the certificate, in base64. */
  readonly certificateHash?: string;
  /** A WebSocket for browsers without WebTransport. */
  readonly fallbackUrl?: string;
}

/**
 * Serves the page on this machine. On another one the page would need `https:` to be a secure context (W3C Secure
 * Contexts §3.1).
 */
export async function openSite(port: number, info: ServerInfo): Promise<Server> {
  const files = new Map([
    ["/", { type: "text/html", body: await readFile(local("../../public/index.html")) }],
    ["/style.css", { type: "text/css", body: await readFile(local("../../public/style.css")) }],
    ["/page.js", { type: "text/javascript", body: await bundle() }],
    ["/server.json", { type: "application/json", body: JSON.stringify(info) }],
  ]);
  const connectTo = [info.url, info.fallbackUrl ?? info.url]
    .map((url) => new URL(url))
    .map(({ protocol, host }) => `${protocol}//${host}`);
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; connect-src 'self' ${connectTo.join(" ")}`;
  const server = createServer(({ url = "/" }, response) => {
    const file = files.get(new URL(url, "http://localhost").pathname);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const headers = {
      "cache-control": "no-store",
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
    };
    response.writeHead(200, { ...headers, "content-type": `${file.type}; charset=utf-8` }).end(file.body);
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed).listen(port, "127.0.0.1", listening);
  });
  return server;
}

async function bundle(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [local("../page/main.js")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    logLevel: "error",
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

function local(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
