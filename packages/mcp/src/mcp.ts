import { createMcpHandler } from "@modelcontextprotocol/server";
import { RpcError } from "@quicrpc/core";
import type { Caller } from "@quicrpc/core/generated";
import { checkOptions } from "@quicrpc/core/internal";
import {
  type ExtensionAnswer,
  type ExtensionHost,
  type ExtensionRequest,
  type HttpExtension,
  httpTransport,
} from "@quicrpc/http";
import { isObject } from "@quicrpc/services/json-schema";
import { toolsOfRouter } from "./router-tools.js";
import { RunningCalls, SESSION_FIELD } from "./running-calls.js";
import type { Tool } from "./tool.js";
import { createToolServer, TOOL_SERVER_OPTIONS, type ToolServerInfo } from "./tool-server.js";

/** Options of `mcp`. */
export interface McpOptions extends Omit<Partial<ToolServerInfo>, "name" | "version"> {
  /** Name that the server reports to clients. Default: "quicrpc". */
  readonly name?: string;
  /** Version that the server reports to clients. Default: "0.0.0". */
  readonly version?: string;
  /** URL path of the MCP endpoint. Default: "/mcp". */
  readonly path?: string;
}

/**
 * Creates an HTTP extension that serves an MCP endpoint over streamable HTTP. Methods with `meta.mcp` in their schema
 * are available as tools. Pass the result to `extensions` of `serve` or `createFetchHandler`. Each tool call becomes a
 * call of the method over HTTP, with the headers of the client's request.
 */
export function mcp(options: McpOptions = {}): HttpExtension {
  checkOptions("mcp()", options, { ...TOOL_SERVER_OPTIONS, path: true });
  const { path = "/mcp", ...info } = options;
  return { path, start: (host) => serveTools({ name: "quicrpc", version: "0.0.0", ...info }, host) };
}

function serveTools(info: ToolServerInfo, { router, limits, prefix, onError }: ExtensionHost): ExtensionAnswer {
  let making: Promise<ReadonlyMap<string, Tool>> | undefined;
  const running = new RunningCalls();
  return async (exchange) => {
    making ??= toolsOfRouter(router);
    const tools = await making;
    const { request } = exchange;
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const message = exchange.json();
    // A batch is refused, because its response could contain as many messages as fit into a request.
    if (!isObject(message))
      throw new RpcError("invalid_argument", "the body must be one JSON-RPC message, not a batch");
    const session = request.headers.get(SESSION_FIELD);
    running.cancel(session, message);
    const calls = {
      caller: callerFor(exchange, prefix, limits.maxFrameBytes),
      begin: () => running.begin(session, message),
      signal: request.signal,
      maxBytes: limits.maxFrameBytes,
    };
    // Each request has its own server, so that no state is kept between requests.
    const handler = createMcpHandler(() => createToolServer(info, tools, calls), {
      maxSubscriptions: 0,
      onerror: (error) => onError(error, { method: "mcp" }),
    });
    const response = await handler.fetch(request, { parsedBody: message });
    if (message["method"] === "initialize") response.headers.set(SESSION_FIELD, crypto.randomUUID());
    return response;
  };
}

/** Names of headers of an MCP request that are not copied to the method calls. */
const OWN =
  /^(content-.*|accept.*|mcp-.*|connect-.*|sec-.*|origin|host|connection|transfer-encoding|te|upgrade|last-event-id)$/;

function callerFor({ request, call }: ExtensionRequest, prefix: string, maxFrameBytes: number): Caller {
  const headers = Object.fromEntries(Array.from(request.headers).filter(([name]) => !OWN.test(name)));
  return httpTransport({
    fetch: (url, init) => call(new Request(url, init)),
    uploads: "none",
    headers,
    limits: { maxFrameBytes },
  }).caller(new URL(`${prefix}/`, request.url));
}
