// Services over plain HTTP, together with other routes: see docs/http.md.
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { Router } from "@quicrpc/core";
import {
  createFetchHandler,
  docsPage,
  type FetchHandler,
  type HttpPeer,
  httpTransport,
  toNodeHandler,
} from "@quicrpc/http";
import { mcp } from "@quicrpc/mcp";
import { createReflection } from "@quicrpc/services";
import { studio } from "@quicrpc/studio";
import { type ArithClient, type ArithHandlers, createArithClient, createArithRouter } from "./generated/arith.js";

export function serveOverHttp(handlers: ArithHandlers): Server {
  // #region serve
  const handler = createFetchHandler({ routers: [createArithRouter(handlers)] });
  const server = createServer(toNodeHandler(handler)).listen(8080);
  // #endregion serve
  return server;
}

/** Shows each note as it is added, for a page that only has HTTP. */
export function showNotes(show: (note: unknown) => void): EventSource {
  // #region events
  const notes = new EventSource("/notes.v1.Notes/watch"); // ?message={"room":"a"} for a method with an input, as a URL has it
  notes.onmessage = ({ data }: MessageEvent<string>) => show(JSON.parse(data));
  notes.addEventListener("end", () => notes.close());
  // #endregion events
  return notes;
}

export function arithOverHttp(): ArithClient {
  // #region client
  const arith = createArithClient(httpTransport().caller("https://orders.example"));
  // #endregion client
  return arith;
}

export function withTools(routers: readonly Router[], authenticate: (peer: HttpPeer) => string): FetchHandler {
  // #region mcp
  const extensions = [mcp({ name: "shop", version: "1.4.0" })]; // at /mcp
  const handler = createFetchHandler({ routers, authenticate, extensions });
  // #endregion mcp
  return handler;
}

export function withStudio(routers: readonly Router[]): FetchHandler {
  // #region studio
  const handler = createFetchHandler({
    routers: [...routers, createReflection(routers)],
    extensions: [studio({ connect: "https://example.org:4433" })], // at /studio
  });
  // #endregion studio
  return handler;
}

export function withOpenApi(routers: readonly Router[]): FetchHandler {
  // #region openapi
  const handler = createFetchHandler({ routers, openApi: { info: { title: "Shop", version: "1.4.0" } } });
  // GET /openapi.json
  // #endregion openapi
  return handler;
}

export function withDocs(routers: readonly Router[]): FetchHandler {
  // #region docs
  const script = () => readFile(fileURLToPath(import.meta.resolve("rapidoc")), "utf8"); // npm install rapidoc
  const handler = createFetchHandler({ routers, openApi: true, extensions: [docsPage({ script, title: "Shop" })] });
  // GET /docs
  // #endregion docs
  return handler;
}
